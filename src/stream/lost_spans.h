#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/number_hash.h"
#include "stream/recording.h"

namespace tephra::stream {

// When records were lost, and on which CPUs: from the record before the loss in that CPU's ring to the record that
// tells of it. What began before such a span and ended after it may have been something else in between.
class LostSpans {
 public:
  // One step over all records.
  static LostSpans of(const Recording& recording);

  // How many records were lost.
  uint64_t count() const { return count_; }
  bool any() const { return count_ != 0; }

  // Whether something was lost on this CPU within [from, to].
  bool touch(int32_t cpu, uint64_t from, uint64_t to) const;
  // The same for any CPU.
  bool touch(uint64_t from, uint64_t to) const;

  // Something was lost on a CPU (-1: not known which, so it may be any) after `from`, up to `to`. Then finish().
  void add(int32_t cpu, uint64_t from, uint64_t to, uint64_t records);
  void finish();

 private:
  using Spans = std::vector<std::pair<uint64_t, uint64_t>>;  // apart from each other and ascending, once finished
  static void join(Spans& spans);
  static bool touch(const Spans& spans, uint64_t from, uint64_t to);

  uint64_t count_ = 0;
  std::unordered_map<int32_t, Spans, base::NumberHash> by_cpu_;
  Spans anywhere_;  // on CPUs that are not known
  Spans all_;
};

}  // namespace tephra::stream
