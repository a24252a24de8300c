#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace tephra::objects {

// Bounds what is read of one file's debug information, over all its units. Entries may share lists of ranges and
// names, so that a small hostile file could stand for an endless one. Threads may share it.
class ReadingBudget {
 public:
  // Every list of ranges of code and every row of lines takes bytes of the file, which no other has in a real file.
  // Names are shared between units.
  explicit ReadingBudget(uint64_t file_size)
      : ranges_(static_cast<int64_t>(std::clamp(file_size, kLeast, kMost))),
        lines_(static_cast<int64_t>(std::clamp(file_size, kLeast, kMost))),
        text_(static_cast<int64_t>(std::clamp(file_size, kLeast, kMost)) * kUsesOfText) {}

  // False when there are to be no more of them. Ranges are measured in bytes of their lists.
  bool take_ranges(uint64_t bytes) { return take(ranges_, bytes); }
  bool take_lines(uint64_t count) { return take(lines_, count); }
  bool take_text(uint64_t bytes) { return take(text_, bytes); }
  // Whether something was left out.
  bool is_spent() const { return spent_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kLeast = 1 << 16;
  static constexpr uint64_t kMost = uint64_t{1} << 40;
  static constexpr int64_t kUsesOfText = 16;

  bool take(std::atomic<int64_t>& left, uint64_t amount) {
    if (amount <= kMost &&
        left.fetch_sub(static_cast<int64_t>(amount), std::memory_order_relaxed) >= static_cast<int64_t>(amount)) {
      return true;
    }
    spent_.store(true, std::memory_order_relaxed);
    return false;
  }

  std::atomic<int64_t> ranges_;
  std::atomic<int64_t> lines_;
  std::atomic<int64_t> text_;
  std::atomic<bool> spent_ = false;
};

}  // namespace tephra::objects
