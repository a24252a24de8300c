#include "stream/chain_maker.h"

#include <linux/perf_event.h>

#include <bit>
#include <string_view>

namespace tephra::stream {
namespace {

constexpr auto kUserMarker = static_cast<uint64_t>(PERF_CONTEXT_USER);
constexpr auto kKernelMarker = static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
constexpr int kArm64Pc = 32;  // perf's number of the register

// Where the instruction pointer is in the mask of user registers; -1 for processors that are not known.
int instruction_pointer_register(std::string_view arch) {
  if (arch == "aarch64" || arch == "arm64") return kArm64Pc;
  if (arch.starts_with("arm")) return 15;
  return arch.empty() || arch == "x86_64" || (arch.starts_with('i') && arch.ends_with("86")) ? 8 : -1;
}

// Pipes may not tell the machine; registers of ARM64 are more than x86 has.
std::string_view machine_of(const Recording& recording, uint64_t register_mask) {
  if (!recording.facts.arch.empty()) return recording.facts.arch;
  return register_mask >> kArm64Pc & 1 ? "aarch64" : "x86_64";
}

// What an unwinder inside the kernel wrote into the record's header.
WalkEnd told_end(uint16_t misc) {
  constexpr int kMask = TEPHRA_WALK_END_MASK >> TEPHRA_WALK_END_SHIFT | TEPHRA_WALK_GUESSED;
  return WalkEnd::of_byte(static_cast<uint64_t>(misc >> TEPHRA_WALK_END_SHIFT & kMask));
}

bool has_call_branches(const EventLayout& layout) {
  return layout.sample_type & PERF_SAMPLE_BRANCH_STACK && layout.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK;
}

}  // namespace

ChainMaker::ChainMaker(const Recording& recording, const ProcessHistory& history, const model::Profile& so_far,
                       Unwinder* unwinder, bool stitch_branches)
    : recording_(recording),
      history_(history),
      so_far_(so_far),
      unwinder_(unwinder),
      branch_calls_(stitch_branches),
      ip_register_(instruction_pointer_register(recording.facts.arch)) {}

// The user-space address of a sample that carries registers instead of user frames; 0 where it is not known.
uint64_t ChainMaker::user_ip(const Sample& sample, uint64_t register_mask) const {
  if ((sample.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_KERNEL) return sample.ip;
  if (ip_register_ < 0 || !(register_mask >> ip_register_ & 1) || sample.user_registers.empty()) return 0;
  const int index = std::popcount(register_mask & ((uint64_t{1} << ip_register_) - 1));
  return base::load<uint64_t>(sample.user_registers.data() + index * 8);
}

void ChainMaker::begin_user_part(const Sample& sample, const SampleKey& key) {
  chain_.clear();
  bool has_kernel_address = false;
  for (size_t i = 0; i < sample.callchain.size() && sample.callchain[i] != kUserMarker; ++i) {
    // Without a marker they are where the sample was.
    if (i == 0 && sample.callchain[i] < kFirstChainMarker && key.mode != PERF_RECORD_MISC_KERNEL) break;
    chain_.push_back(sample.callchain[i]);
    has_kernel_address = has_kernel_address || chain_.back() < kFirstChainMarker;
  }
  if (key.mode == PERF_RECORD_MISC_KERNEL && !has_kernel_address) chain_ = {kKernelMarker, sample.ip};
  chain_.push_back(kUserMarker);
}

void ChainMaker::walk(const Sample& sample, const RawStack& raw, SampleKey& key) {
  begin_user_part(sample, key);
  ProcessMemory memory{key.user_space, key.jit};
  if (key.space_before_exec != AddressSpaces::kEmpty &&
      history_.spaces().find(memory.space, user_ip(sample, raw.register_mask)) == nullptr) {
    memory = {.space = key.space_before_exec};
  }
  key.walk_end = walker_->walk(raw, memory, chain_).byte();
  key.ip = 0;
  key.has_callchain = true;
  key.callchain = base::Words(reinterpret_cast<const std::byte*>(chain_.data()), chain_.size());
}

void ChainMaker::use_branches(const Sample& sample, SampleKey& key) {
  by_frame_pointers_.clear();
  bool user = key.mode == PERF_RECORD_MISC_USER;
  for (size_t i = 0; i < sample.callchain.size(); ++i) {
    const uint64_t word = sample.callchain[i];
    if (word >= kFirstChainMarker) {
      user = word == kUserMarker;
    } else if (user) {
      by_frame_pointers_.push_back(word);
    }
  }
  if (by_frame_pointers_.empty() && key.mode == PERF_RECORD_MISC_USER) by_frame_pointers_.push_back(sample.ip);
  begin_user_part(sample, key);
  key.exact_addresses = branch_calls_.append(sample, by_frame_pointers_, chain_);
  key.ip = 0;
  key.has_callchain = true;
  key.callchain = base::Words(reinterpret_cast<const std::byte*>(chain_.data()), chain_.size());
}

RawStack ChainMaker::raw_stack(const Sample& sample, uint64_t position) const {
  return {sample.user_registers_abi, recording_.events[sample.origin.event].layout.sample_regs_user,
          sample.user_registers,     sample.user_stack,
          sample.user_stack_full,    position};
}

void ChainMaker::expect(const Sample& sample) const {
  if (walker_ && !sample.user_stack.empty()) walker_->expect(raw_stack(sample, 0));
}

void ChainMaker::make(const Sample& sample, uint64_t position, SampleKey& key) {
  const EventLayout& layout = recording_.events[key.event].layout;
  key.walk_end = told_end(sample.misc).byte();
  key.exact_addresses = 0;
  key.has_callchain = has_addresses(sample.callchain);
  key.has_user_stack = layout.sample_type & PERF_SAMPLE_STACK_USER && !sample.user_registers.empty();
  key.callchain = sample.callchain;
  key.ip = sample.ip;
  if (key.has_user_stack) {
    if (!walker_made_ && unwinder_ != nullptr) {
      walker_made_ = true;
      walker_ = unwinder_->walker(history_.spaces(), history_.jit(), so_far_,
                                  machine_of(recording_, layout.sample_regs_user));
    }
    if (walker_) return walk(sample, raw_stack(sample, position), key);
  } else if (has_call_branches(layout) && sample.branches.size() > 0) {
    return use_branches(sample, key);
  }
  if (key.has_callchain) key.ip = key.has_user_stack ? user_ip(sample, layout.sample_regs_user) : 0;
}

}  // namespace tephra::stream
