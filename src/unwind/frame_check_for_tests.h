#pragma once

#include <elf.h>
#include <fmt/format.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "objects/call_frames.h"
#include "objects/elf_file.h"
#include "objects/frame_oracle_for_tests.h"
#include "objects/frame_rows.h"
#include "unwind/frame_table.h"

namespace tephra::unwind {
inline int read_made_up_word(uint64_t address, unsigned long long* word) {
  *word = objects::MadeUpMachine::word(address);
  return 0;
}
}  // namespace tephra::unwind

#define TEPHRA_STEP [[maybe_unused]] static inline
#define TEPHRA_READ_WORD(memory, address, place) (void(memory), ::tephra::unwind::read_made_up_word(address, place))
#include "abi/frame_step.h"

namespace tephra::unwind {

// For tests: compares what the rows of a file say about the caller at random places with what libdw says there.
class FrameCheck {
 public:
  struct Outcome {
    uint64_t places = 0;              // looked at, where libdw has a description
    uint64_t unsupported = 0;         // of them, where rules cannot say what is described
    uint64_t frame_pointer_lost = 0;  // where rules cannot say where the caller's is
    uint64_t unjudged = 0;            // where libdw cannot say what it found a description of
    uint64_t differ = 0;
    std::string first_difference;
  };

  static Outcome run(const std::string& path, const objects::ElfFile& elf, const FrameTable& table, uint64_t places,
                     unsigned seed) {
    const objects::FrameOracle oracle(path);
    FrameCheck check(oracle, elf, table);
    if (oracle.ok()) check.look_at_random(places, seed);
    return check.outcome_;
  }

 private:
  FrameCheck(const objects::FrameOracle& oracle, const objects::ElfFile& elf, const FrameTable& table)
      : oracle_(oracle), elf_(elf), frames_(elf), table_(table) {}

  // Half the places are where rows begin, where mistakes of one byte show.
  void look_at_random(uint64_t places, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<objects::ElfFile::Segment> code;
    for (const auto& segment : elf_.segments()) {
      if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0 && segment.file_size > 0) code.push_back(segment);
    }
    if (code.empty() || table_.empty()) return;
    for (uint64_t i = 0; i < places; ++i) {
      const auto& segment = code[random() % code.size()];
      uint64_t offset = segment.offset + random() % segment.file_size;
      if (i % 2 == 0) {
        const uint64_t row = random() % table_.rows;
        offset = table_.blocks[row / TEPHRA_FRAME_BLOCK_ROWS].start[row % TEPHRA_FRAME_BLOCK_ROWS];
        offset -= random() % 3 == 0 && offset > 0 ? 1 : 0;
      }
      look_at(offset, random());
    }
  }

  void look_at(uint64_t offset, uint64_t seed) {
    const auto address = elf_.address_of_offset(offset);
    if (!address) return;
    const objects::MadeUpMachine machine(elf_.machine(), seed);
    const auto expected = oracle_.find(*address, machine);
    if (!expected) return;
    // Where programs begin is outermost whatever is said about it.
    const auto function = frames_.find(*address);
    if (function && elf_.entry() >= function->function_start && elf_.entry() < function->function_end) return;
    ++outcome_.places;
    const std::string difference = compare(*address, table_.find(offset), *expected, machine);
    if (difference.empty()) return;
    if (outcome_.differ++ == 0) outcome_.first_difference = fmt::format("{:#x}: {}", *address, difference);
  }

  std::string compare(uint64_t address, const tephra_frame_rule& rule, const objects::FrameOracle::Caller& expected,
                      const objects::MadeUpMachine& machine) {
    using How = objects::FrameOracle::How;
    if (rule.cfa == TEPHRA_CFA_NONE) return "no rule";
    const bool undefined = expected.return_address.how == How::kUndefined;
    if (rule.cfa == TEPHRA_CFA_SIGNAL) return expected.is_signal_frame ? "" : "not a signal frame";
    if (rule.cfa == TEPHRA_CFA_OUTERMOST) return undefined ? "" : "not outermost";
    if (rule.cfa == TEPHRA_CFA_UNSUPPORTED) {
      ++outcome_.unsupported;
      return "";
    }
    const bool is_x86 = elf_.machine() == EM_X86_64;
    tephra_frame frame{};
    frame.pc = address;
    frame.sp = machine.registers[is_x86 ? 7 : 31];
    frame.fp = machine.registers[is_x86 ? 6 : 29];
    frame.lr = machine.registers[30];
    const std::vector<unsigned long long> registers(machine.registers.begin(), machine.registers.end());
    const int end =
        tephra_step_by_rule(is_x86 ? TEPHRA_X86_64 : TEPHRA_ARM64, &rule, nullptr, &frame, registers.data());
    // libdw evaluates nothing where a register is set after an expression, as libgcrypt's assembly does; unwinders go on.
    if (!expected.cfa) {
      ++outcome_.unjudged;
      return "";
    }
    if (end == TEPHRA_WALK_IMPLAUSIBLE && *expected.cfa <= machine.registers[is_x86 ? 7 : 31]) return "";
    if (end != 0) return fmt::format("the step ends with {}", end);
    if (frame.sp != *expected.cfa) return fmt::format("CFA {:#x}, libdw {:#x}", frame.sp, *expected.cfa);
    if (frame.pc != expected.return_address.value) {
      return fmt::format("return address {:#x}, libdw {:#x}", frame.pc, expected.return_address.value);
    }
    if (frame.fp_lost != 0) {
      ++outcome_.frame_pointer_lost;
      return "";
    }
    const bool same = expected.frame_pointer.how == How::kValue && frame.fp == expected.frame_pointer.value;
    return same ? "" : fmt::format("frame pointer {:#x}, libdw {:#x}", frame.fp, expected.frame_pointer.value);
  }

  const objects::FrameOracle& oracle_;
  const objects::ElfFile& elf_;
  objects::CallFrames frames_;
  const FrameTable& table_;
  Outcome outcome_;
};

}  // namespace tephra::unwind
