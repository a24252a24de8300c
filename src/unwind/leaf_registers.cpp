#include "unwind/leaf_registers.h"

#include <bit>

namespace tephra::unwind {
namespace {

constexpr int kNoDwarfNumber = -1;

// perf's numbers of registers, which are those of the bits in a mask.
constexpr int kX86Fp = 6;
constexpr int kX86Sp = 7;
constexpr int kX86Pc = 8;
constexpr int kArm64Fp = 29;
constexpr int kArm64Lr = 30;
constexpr int kArm64Sp = 31;
constexpr int kArm64Pc = 32;

// perf's: ax bx cx dx si di bp sp ip flags cs ss ds es fs gs r8 … r15. DWARF's: ax dx cx bx si di bp sp r8 … r15.
constexpr std::array<int, 24> kX86DwarfNumbers{0,
                                               3,
                                               2,
                                               1,
                                               4,
                                               5,
                                               6,
                                               7,
                                               kNoDwarfNumber,
                                               kNoDwarfNumber,
                                               kNoDwarfNumber,
                                               kNoDwarfNumber,
                                               kNoDwarfNumber,
                                               kNoDwarfNumber,
                                               kNoDwarfNumber,
                                               kNoDwarfNumber,
                                               8,
                                               9,
                                               10,
                                               11,
                                               12,
                                               13,
                                               14,
                                               15};

int dwarf_number(Machine machine, int perf_number) {
  if (machine == Machine::kArm64) return perf_number <= kArm64Sp ? perf_number : kNoDwarfNumber;
  return static_cast<size_t>(perf_number) < kX86DwarfNumbers.size() ? kX86DwarfNumbers[perf_number] : kNoDwarfNumber;
}

void note(Machine machine, int perf_number, uint64_t value, LeafRegisters& leaf) {
  const bool arm64 = machine == Machine::kArm64;
  if (perf_number == (arm64 ? kArm64Pc : kX86Pc)) {
    leaf.pc = value;
    leaf.has_pc = true;
  }
  if (perf_number == (arm64 ? kArm64Sp : kX86Sp)) leaf.sp = value;
  if (perf_number == (arm64 ? kArm64Fp : kX86Fp)) {
    leaf.fp = value;
    leaf.has_fp = true;
  }
  if (arm64 && perf_number == kArm64Lr) leaf.lr = value;
  const int number = dwarf_number(machine, perf_number);
  if (number != kNoDwarfNumber) leaf.by_dwarf_number[static_cast<size_t>(number)] = value;
}

uint64_t needed_mask(Machine machine) {
  const auto bit = [](int number) { return uint64_t{1} << number; };
  if (machine == Machine::kArm64) return bit(kArm64Pc) | bit(kArm64Sp) | bit(kArm64Lr);
  return bit(kX86Pc) | bit(kX86Sp);
}

}  // namespace

std::optional<uint64_t> stack_pointer(Machine machine, const stream::RawStack& raw) {
  const uint64_t bit = uint64_t{1} << (machine == Machine::kArm64 ? kArm64Sp : kX86Sp);
  const auto at = static_cast<size_t>(std::popcount(raw.register_mask & (bit - 1))) * 8;
  if (!(raw.register_mask & bit) || at + 8 > raw.registers.size()) return std::nullopt;
  return base::load<uint64_t>(raw.registers.data() + at);
}

LeafRegisters read_leaf_registers(Machine machine, const stream::RawStack& raw) {
  LeafRegisters leaf;
  size_t at = 0;
  for (uint64_t rest = raw.register_mask; rest != 0 && at + 8 <= raw.registers.size(); rest &= rest - 1, at += 8) {
    note(machine, std::countr_zero(rest), base::load<uint64_t>(raw.registers.data() + at), leaf);
  }
  const auto recorded = static_cast<size_t>(std::popcount(raw.register_mask)) * 8;
  leaf.can_walk =
      (raw.register_mask & needed_mask(machine)) == needed_mask(machine) && raw.registers.size() >= recorded;
  return leaf;
}

}  // namespace tephra::unwind
