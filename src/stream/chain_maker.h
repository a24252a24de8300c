#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "stream/branch_calls.h"
#include "stream/event.h"
#include "stream/process_history.h"
#include "stream/recording.h"
#include "stream/sample_table.h"
#include "stream/unwinder.h"

namespace tephra::stream {

// Finds the call chain of samples: the one that was recorded, or the recorded kernel part and behind it user addresses
// from a copy of the stack or from branch records. One thread at a time.
class ChainMaker {
 public:
  // All must outlive it. `unwinder` may be null: copies of stacks are then not unwound.
  ChainMaker(const Recording& recording, const ProcessHistory& history, const model::Profile& so_far,
             Unwinder* unwinder, bool stitch_branches);

  // Sets what `key` says about the chain; its event, mode and spaces are set already. The chain lives until the next
  // call, at least.
  // `position` is the sample's, in the records.
  void make(const Sample& sample, uint64_t position, SampleKey& key);
  // A sample that make() will be called for soon.
  void expect(const Sample& sample) const;

 private:
  // Copies the kernel part of the sample's chain, or its kernel address, and begins the user part.
  void begin_user_part(const Sample& sample, const SampleKey& key);
  void walk(const Sample& sample, const RawStack& raw, SampleKey& key);
  void use_branches(const Sample& sample, SampleKey& key);
  RawStack raw_stack(const Sample& sample, uint64_t position) const;
  uint64_t user_ip(const Sample& sample, uint64_t register_mask) const;

  const Recording& recording_;
  const ProcessHistory& history_;
  const model::Profile& so_far_;
  Unwinder* unwinder_;
  std::unique_ptr<Unwinder::Walker> walker_;
  bool walker_made_ = false;
  BranchCalls branch_calls_;
  int ip_register_;
  std::vector<uint64_t> chain_;
  std::vector<uint64_t> by_frame_pointers_;
};

}  // namespace tephra::stream
