#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/profile.h"

namespace tephra::collect {

// A copy of the stack as it came in a sample.
struct StackCopy {
  uint64_t room = 0;               // the size of the copy in the record
  uint64_t filled = 0;             // how much of it the kernel could read
  std::optional<uint64_t> needed;  // from the stack pointer to the end of the stack; nothing where that is not known
};

// Decides how much of a stack is copied, from what was seen of stacks so far. Knows no clock and opens nothing.
//
// A size is too small when more than one stack in a hundred goes on beyond the copy: then the next one covers 99 % of
// those seen. It is too large when it is four times what all but one in a thousand take: then it is halved or more, but
// once only, and never after it had been too small. So it settles.
class CopySizes {
 public:
  explicit CopySizes(uint32_t first);

  void saw(const StackCopy& copy);

  struct Decision {
    uint32_t bytes = 0;    // the size to change to; that in use where more cannot be had
    uint32_t wanted = 0;   // the size without the limit
    double cut = 0;        // the share of stacks that went on beyond the copy; 0: the size is too large
    uint64_t samples = 0;  // that were judged by
    double rate = 0;       // of them, a second
    bool smaller() const { return cut == 0; }
  };
  // What copies may take.
  struct Limits {
    uint64_t bytes_a_second = 0;  // together
    uint64_t ring_bytes = 0;      // of one CPU
    uint64_t rate = 0;            // the samples a second that one CPU takes at most
  };
  // Whether the size is right, once there is enough to judge by; to be asked often. `now` in seconds. changed() or
  // keep() is the answer to a decision with another size.
  std::optional<Decision> decide(double now, const Limits& limits);
  // From now on samples have copies of this size, but for those on their way.
  void changed(uint32_t bytes);
  // The size stays: nothing more is decided.
  void keep() { settled_ = true; }
  bool settled() const { return settled_; }

  uint32_t bytes() const { return bytes_; }
  // What was seen at each size, in the order of use; a size that was used twice stands there once.
  const std::vector<model::CopySize>& used() const { return used_; }

 private:
  static constexpr uint32_t kStep = 1024;
  static constexpr size_t kBuckets = 66;  // of kStep bytes each; the last is for all beyond

  struct Needs {
    std::array<uint64_t, kBuckets> by_size{};
    uint64_t samples = 0;
    uint64_t cut = 0;
    void add(uint64_t bytes, bool was_cut);
    // Bytes that are enough for this share of them.
    uint32_t covering(double share) const;
  };

  uint32_t affordable(double rate, const Limits& limits) const;
  std::optional<Decision> grow(double rate, const Limits& limits);
  std::optional<Decision> shrink(double rate);
  model::CopySize& size_of(uint64_t room);

  uint32_t bytes_;
  Needs recent_;                        // since the last look
  Needs all_;                           // since the last change
  std::optional<double> recent_begun_;  // when
  double seconds_ = 0;                  // since the last change, up to the last look
  int changes_ = 0;
  bool may_shrink_ = true;
  bool settled_ = false;
  std::vector<model::CopySize> used_;
};

}  // namespace tephra::collect
