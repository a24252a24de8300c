#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collect/sample_writer.h"
#include "kernel/off_cpu_program.h"

namespace tephra::collect {

// The stacks that waits refer to by their hash, as they go into samples.
class WaitStacks {
 public:
  struct Stack {
    std::vector<uint64_t> chain;
    std::vector<uint64_t> registers;  // in perf's order, where there is a copy
    std::vector<std::byte> copy;
    uint16_t walk_end = 0;
    bool in_interrupt = false;  // the thread whose stack it is was interrupted
  };

  // Where functions of the kernel are, as half-open ranges; empty where addresses are hidden.
  struct KernelPlaces {
    std::vector<std::pair<uint64_t, uint64_t>> scheduler;   // what is above it is how the program was called
    std::vector<std::pair<uint64_t, uint64_t>> interrupts;  // what is below it has nothing to do with what is above
  };

  // `copies`: samples can hold them; else they are followed here, by frame pointers.
  explicit WaitStacks(bool copies);

  void add(const kernel::OffCpuProgram::Stack& stack);
  // Null: it has not come.
  const Stack* find(uint64_t hash) const;
  size_t bytes() const { return bytes_; }

 private:
  bool in_interrupt(const Stack& stack) const;

  bool copies_;
  KernelPlaces places_;
  std::unordered_map<uint64_t, Stack> stacks_;
  size_t bytes_ = 0;
};

}  // namespace tephra::collect
