#include "unwind/jit_rules.h"

#include <elf.h>

#include <algorithm>

#include "base/hash.h"
#include "objects/cfi_section.h"
#include "objects/frame_rows.h"

namespace tephra::unwind {
namespace {

constexpr size_t kPlaces = size_t{1} << 12;
// Call-frame information tells where code is by a distance from itself, of 32 bits: all of it is in this reach.
constexpr uint64_t kReach = uint64_t{1} << 31;

uint64_t reach_begin(const stream::JitUnwinding& unwinding) { return std::max(unwinding.address, kReach) - kReach; }

uint16_t elf_machine(Machine machine) { return machine == Machine::kArm64 ? EM_AARCH64 : EM_X86_64; }

}  // namespace

const FrameTable& JitRules::table_of(uint32_t unwinding) {
  if (const auto known = tables_.find(unwinding); known != tables_.end()) return known->second.table();
  const stream::JitUnwinding& told = code_.unwinding(unwinding);
  const objects::CfiSection frames(told.eh_frame, told.address, objects::CfiSection::Kind::kEhFrame, true);
  const objects::CodeInMemory code{elf_machine(machine_), reach_begin(told), 2 * kReach};
  return tables_.try_emplace(unwinding, objects::build_frame_rows(code, frames)).first->second.table();
}

const tephra_frame_rule* JitRules::look_up(stream::JitCode::View view, uint64_t pc) {
  const stream::JitCode::Found found = code_.find(view, pc);
  const auto* description = found.function == nullptr ? nullptr : code_.description_of(*found.function);
  if (description == nullptr) return nullptr;
  const uint64_t told_address = pc - found.base + description->address;
  const uint64_t offset = told_address - reach_begin(code_.unwinding(description->unwinding));
  const tephra_frame_rule& rule = table_of(description->unwinding).find(offset);
  return rule.cfa == TEPHRA_CFA_NONE ? nullptr : &rule;
}

const tephra_frame_rule* JitRules::find(stream::JitCode::View view, uint64_t pc) {
  if (view == 0) return nullptr;
  if (places_.empty()) places_.resize(kPlaces);
  Place& place = places_[base::mix(pc, view) % kPlaces];
  if (place.pc != pc || place.view != view) place = {pc, view, look_up(view, pc)};
  return place.rule;
}

}  // namespace tephra::unwind
