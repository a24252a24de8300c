#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/number_hash.h"
#include "stream/event.h"

namespace tephra::stream {

// User stacks from the processor's record of calls (branch stacks in call-stack mode, --call-graph lbr). The record
// holds the calls that have not returned, as many as there are registers: 8, 16 or 32.
class BranchCalls {
 public:
  // `stitch`: where the registers were too few, go on with what the thread's sample before held in the same registers.
  // Samples must then come in the order of time.
  explicit BranchCalls(bool stitch) : stitch_(stitch) {}

  // Appends the user addresses of a sample, leaf first, and returns how many of them, after the leaf, are those of call
  // instructions; what follows them is from frame pointers. `by_frame_pointers`: the user addresses of the sample's
  // chain, leaf first.
  uint32_t append(const Sample& sample, const std::vector<uint64_t>& by_frame_pointers,
                  std::vector<uint64_t>& addresses);

 private:
  // What a thread's last sample held, and was stitched to.
  struct Last {
    std::vector<uint64_t> words;  // as BranchStack, the newest first
    int64_t hardware_index = -1;
    size_t recorded = 0;  // how many branches the sample itself held
  };

  void stitch(const Sample& sample, std::vector<uint64_t>& addresses);

  bool stitch_;
  size_t most_branches_ = 0;                                  // of all samples so far
  std::unordered_map<int32_t, Last, base::NumberHash> last_;  // by thread
};

}  // namespace tephra::stream
