#include "unwind/stack_walker.h"

#include <linux/perf_event.h>

#include <algorithm>

#include "base/hash.h"
#include "unwind/leaf_registers.h"

namespace tephra::unwind {
namespace {

// The part of a stack that was copied.
struct StackCopy {
  uint64_t start;
  base::Bytes bytes;
};

inline int read_copied_word(const void* memory, unsigned long long address, unsigned long long* word) {
  const auto& copy = *static_cast<const StackCopy*>(memory);
  const uint64_t at = address - copy.start;
  if (copy.bytes.size() < sizeof *word || at > copy.bytes.size() - sizeof *word) return 1;
  *word = base::load<unsigned long long>(copy.bytes.data() + at);
  return 0;
}

}  // namespace
}  // namespace tephra::unwind

#define TEPHRA_READ_WORD(memory, address, word) tephra::unwind::read_copied_word(memory, address, word)
#define TEPHRA_STEP static inline
#include "abi/frame_step.h"

namespace tephra::unwind {
namespace {

constexpr size_t kPlaces = size_t{1} << 15;

constexpr size_t kCacheLine = 64;
// Of the innermost frames, which are others in every sample.
constexpr size_t kInnerBytes = 2048;

// A step that no rule was asked about, and that may therefore have led astray.
bool is_guess(const tephra_frame_rule* rule) { return rule == nullptr || rule->cfa == TEPHRA_CFA_NONE; }

}  // namespace

StackWalker::StackWalker(Machine machine, const stream::AddressSpaces& spaces, const stream::JitCode& code,
                         const model::Profile& so_far, FindTable find_table)
    : machine_(machine), spaces_(spaces), so_far_(so_far), find_table_(std::move(find_table)) {
  if (code.has_unwinding()) jit_rules_.emplace(machine, code);
}

const StackWalker::MappingTable& StackWalker::table_of(model::MappingId mapping) {
  if (tables_.size() <= mapping.value) tables_.resize(mapping.value + 1);
  MappingTable& known = tables_[mapping.value];
  if (known.without_rule != TEPHRA_WALK_NOT_TOLD) return known;
  const model::Mapping& row = so_far_.mappings[mapping];
  known.without_rule = TEPHRA_WALK_NO_RULE;
  known.in_file = row.kind == model::CodeKind::kFile || row.kind == model::CodeKind::kVdso;
  if (!known.in_file) return known;
  known.table = find_table_(row);
  if (known.table == nullptr) known.without_rule = TEPHRA_WALK_NO_FILE;
  return known;
}

StackWalker::Place StackWalker::look_up(uint64_t pc, stream::AddressSpaces::State space) {
  Place place{.pc = pc, .space = space, .without_rule = TEPHRA_WALK_NO_MAPPING};
  const stream::MappedRange* range = spaces_.find(space, pc);
  if (range == nullptr) return place;
  const MappingTable& table = table_of(range->mapping);
  place.without_rule = table.without_rule;
  place.in_file = table.in_file;
  if (table.table != nullptr && !table.table->empty()) {
    place.rule = &table.table->find(pc - range->start + range->offset);
  }
  return place;
}

inline const StackWalker::Place& StackWalker::place_at(uint64_t pc, stream::AddressSpaces::State space) {
  Place& place = places_[base::mix(pc, space) % kPlaces];
  if (place.pc != pc || place.space != space || place.without_rule == TEPHRA_WALK_NOT_TOLD) place = look_up(pc, space);
  return place;
}

template <int kMachine>
tephra_walk_end StackWalker::walk_from(tephra_frame& frame, const stream::RawStack& raw,
                                       const unsigned long long* registers, const stream::ProcessMemory& memory,
                                       std::vector<uint64_t>& addresses, bool& caller_guessed) {
  StackCopy copy{frame.sp, raw.stack};
  const stream::AddressSpaces::State space = memory.space;
  frame_addresses_.clear();
  tephra_walk_end guess = TEPHRA_WALK_NOT_TOLD;  // what to end with when the last step was one and led nowhere
  bool guess_in_file = false;
  for (size_t depth = 0; depth < kMostFrames; ++depth) {
    if (frame.pc > TEPHRA_ADDRESS_BITS) return guess != TEPHRA_WALK_NOT_TOLD ? guess : TEPHRA_WALK_NO_MAPPING;
    Place place = place_at(frame.pc - frame.is_call_site, space);
    const bool mapped = place.without_rule != TEPHRA_WALK_NO_MAPPING;
    if (!mapped && guess != TEPHRA_WALK_NOT_TOLD) return guess;
    caller_guessed = caller_guessed || guess_in_file;
    if (place.rule == nullptr && jit_rules_ && place.without_rule == TEPHRA_WALK_NO_RULE) {
      place.rule = jit_rules_->find(memory.code, place.pc);
    }
    const bool is_signal = place.rule != nullptr && place.rule->cfa == TEPHRA_CFA_SIGNAL;
    if (depth > 0 && (is_signal || !frame.is_call_site)) addresses.push_back(static_cast<uint64_t>(PERF_CONTEXT_USER));
    addresses.push_back(frame.pc);
    if (!mapped) return TEPHRA_WALK_NO_MAPPING;
    int end = place.rule != nullptr ? tephra_step_by_rule(kMachine, place.rule, &copy, &frame, registers)
                                    : tephra_step_by_frame_pointer(kMachine, &copy, &frame);
    if (end == TEPHRA_WALK_NO_RULE) return place.without_rule;
    if (end == TEPHRA_WALK_UNREADABLE && raw.full) return TEPHRA_WALK_COPY_END;
    if (end != 0) return static_cast<tephra_walk_end>(end);
    frame_addresses_.push_back(frame.sp);
    guess = is_guess(place.rule) ? place.without_rule : TEPHRA_WALK_NOT_TOLD;
    guess_in_file = guess != TEPHRA_WALK_NOT_TOLD && place.in_file;
    registers = nullptr;
  }
  return TEPHRA_WALK_DEPTH;
}

// A walk waits for memory at every frame, one after the other. Threads stay in their outer frames from one sample to
// the next, so most of what the walk reads can be asked for together, a whole walk ahead.
void StackWalker::expect(const stream::RawStack& raw) {
  const auto start = stack_pointer(machine_, raw);
  if (!start) return;
  for (size_t at = 0; at < std::min(kInnerBytes, raw.stack.size()); at += kCacheLine) {
    __builtin_prefetch(raw.stack.data() + at);
  }
  for (const uint64_t address : frame_addresses_) {
    const uint64_t at = address - sizeof(uint64_t) - *start;
    if (at < raw.stack.size()) __builtin_prefetch(raw.stack.data() + at);
  }
}

stream::WalkEnd StackWalker::walk(const stream::RawStack& raw, const stream::ProcessMemory& memory,
                                  std::vector<uint64_t>& addresses) {
  if (places_.empty()) places_.resize(kPlaces);
  const LeafRegisters leaf = read_leaf_registers(machine_, raw);
  const bool is_32bit = raw.abi == PERF_SAMPLE_REGS_ABI_32;
  if (is_32bit || !leaf.can_walk) {
    if (leaf.has_pc && leaf.pc <= TEPHRA_ADDRESS_BITS) addresses.push_back(leaf.pc);
    return is_32bit ? TEPHRA_WALK_32BIT : TEPHRA_WALK_UNREADABLE;
  }
  tephra_frame frame{.pc = leaf.pc,
                     .sp = leaf.sp,
                     .fp = leaf.fp,
                     .lr = leaf.lr,
                     .is_call_site = 0,
                     .fp_lost = static_cast<unsigned char>(!leaf.has_fp),
                     .fp_linked = 0};
  const unsigned long long* registers = leaf.by_dwarf_number.data();
  bool guessed = false;
  const auto end = machine_ == Machine::kArm64
                       ? walk_from<TEPHRA_ARM64>(frame, raw, registers, memory, addresses, guessed)
                       : walk_from<TEPHRA_X86_64>(frame, raw, registers, memory, addresses, guessed);
  return {end, guessed};
}

}  // namespace tephra::unwind
