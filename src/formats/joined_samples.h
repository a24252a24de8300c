#pragma once

#include <cstdint>
#include <vector>

#include "base/number_hash.h"
#include "model/profile_assembler.h"

namespace tephra::formats {

// Samples of formats that hold sums and no times: those of the same stack, event and thread are one, which stands where
// the first of them stood. What a file repeats takes no memory.
class JoinedSamples {
 public:
  // Times, CPUs and the like are not looked at.
  void add(const model::ProfileAssembler::Sample& sample);
  // Adds them all to a profile; none are left.
  void move_to(model::ProfileAssembler& assembler);

 private:
  struct Row {
    model::StackId stack;
    model::EventId event;
    model::ThreadId thread;
    uint64_t count;
    uint64_t value;
  };
  uint32_t& slot_of(const Row& row);
  void grow();

  const uint64_t seed_ = base::secret_seed();
  std::vector<Row> rows_;
  std::vector<uint32_t> slots_;  // rows from 1 on, by what they are of: open addressing, 0 is free
};

}  // namespace tephra::formats
