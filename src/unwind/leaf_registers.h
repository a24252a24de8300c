#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "stream/unwinder.h"
#include "unwind/machine.h"

namespace tephra::unwind {

// The registers of the innermost frame.
struct LeafRegisters {
  // All by DWARF number, 0 where a register was not recorded: a rule that builds on one then leads below the stack
  // pointer, which no walk follows.
  std::array<unsigned long long, 32> by_dwarf_number{};
  uint64_t pc = 0;
  uint64_t sp = 0;
  uint64_t fp = 0;
  uint64_t lr = 0;
  bool has_pc = false;
  bool has_fp = false;
  bool can_walk = false;  // all that a first step needs was recorded
};

// Reads what a sample holds in perf's order of the machine's registers.
LeafRegisters read_leaf_registers(Machine machine, const stream::RawStack& raw);
// The stack pointer alone; nothing where it was not recorded.
std::optional<uint64_t> stack_pointer(Machine machine, const stream::RawStack& raw);

}  // namespace tephra::unwind
