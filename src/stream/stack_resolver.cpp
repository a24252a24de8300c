#include "stream/stack_resolver.h"

#include <linux/perf_event.h>

#include <algorithm>

#include "abi/walk_end.h"
#include "base/hash.h"

namespace tephra::stream {
namespace {

using model::AddressKind;
using model::CodeKind;

constexpr size_t kCacheSize = 1 << 14;

}  // namespace

void StackResolver::collect_addresses(const SampleKey& key) {
  addresses_.clear();
  const auto space_of_mode = [](uint16_t mode) {
    if (mode == PERF_RECORD_MISC_KERNEL) return Space::kKernel;
    return mode == PERF_RECORD_MISC_USER || mode == PERF_RECORD_MISC_CPUMODE_UNKNOWN ? Space::kUser : Space::kOther;
  };
  Space space = space_of_mode(key.mode);
  bool leaf_of_space = true;
  uint32_t exact = 0;
  // What we walked ourselves are return addresses.
  const bool as_recorded = calls_recorded_ && key.walk_end == TEPHRA_WALK_NOT_TOLD;
  for (size_t i = 0; i < key.callchain.size(); ++i) {
    const uint64_t word = key.callchain[i];
    if (word >= kFirstChainMarker) {
      const uint64_t marker = word;
      space = marker == static_cast<uint64_t>(PERF_CONTEXT_USER)     ? Space::kUser
              : marker == static_cast<uint64_t>(PERF_CONTEXT_KERNEL) ? Space::kKernel
                                                                     : Space::kOther;
      leaf_of_space = true;
      exact = space == Space::kUser ? key.exact_addresses : 0;
      continue;
    }
    const bool instruction = leaf_of_space || exact > 0 || as_recorded;
    addresses_.push_back({word, space, instruction ? AddressKind::kInstruction : AddressKind::kReturn});
    if (!leaf_of_space && exact > 0) --exact;
    leaf_of_space = false;
  }
  chain_addresses_ = static_cast<uint32_t>(addresses_.size());
  if (key.walk_end != TEPHRA_WALK_NOT_TOLD) {
    // The kernel's limit concerns its own part alone.
    chain_addresses_ = static_cast<uint32_t>(
        std::ranges::count(addresses_, Space::kKernel, [](const Address& address) { return address.space; }));
  }
  // Without a chain the sample is where it was. With a copy of the user stack instead of user addresses, the place in
  // user space is all that can be said before the copy is unwound.
  if (!key.has_callchain || addresses_.empty()) {
    addresses_.push_back({key.ip, space_of_mode(key.mode), AddressKind::kInstruction});
  } else if (key.has_user_stack && key.ip != 0 && addresses_.back().space == Space::kKernel) {
    addresses_.push_back({key.ip, Space::kUser, AddressKind::kInstruction});
  }
}

AddressSpaces::State StackResolver::user_space_of(const SampleKey& key) const {
  if (key.space_before_exec == AddressSpaces::kEmpty) return key.user_space;
  for (const Address& address : addresses_) {
    const bool known = address.space == Space::kUser && history_.spaces().find(key.user_space, address.ip) != nullptr;
    if (known) return key.user_space;
  }
  return key.space_before_exec;
}

void StackResolver::name_generated_code(JitCode::View jit, model::Frame& frame) {
  const model::Mapping around = assembler_.so_far().mappings[frame.mapping];
  if (around.kind != CodeKind::kAnonymous) return;
  const JitCode& code = history_.jit();
  // A call may be the last instruction of its function; what is behind it may be another.
  const uint64_t address = frame.address - (frame.kind == AddressKind::kReturn && frame.address > 0);
  const JitCode::Found found = code.find(jit, address);
  model::Mapping mapping{.kind = CodeKind::kJit, .pid = around.pid};
  if (found.function != nullptr) {
    mapping.path = assembler_.string(found.function->name);
    mapping.base = found.base;
    mapping.unproven = found.function->unproven;
    if (const JitLine* line = code.line_at(*found.function, address - found.base)) {
      frame.file = assembler_.string(line->file);
      frame.line = line->line;
    }
  } else if (!found.doubtful) {
    return;
  }
  frame.mapping = assembler_.mapping(mapping);
}

model::FrameId StackResolver::make_frame(AddressSpaces::State space, JitCode::View jit, const Address& address) {
  model::Frame frame{.kind = address.kind, .address = address.ip};
  const MappedRange* range = history_.spaces().find(space, address.ip);
  if (address.space == Space::kUser && range != nullptr) {
    frame.mapping = range->mapping;
    frame.address = address.ip - range->start + range->offset;
    if (jit != 0) name_generated_code(jit, frame);
  } else if (address.space == Space::kKernel) {
    frame.mapping = range != nullptr ? range->mapping : history_.kernel_image();
  }
  return assembler_.frame(frame);
}

model::FrameId StackResolver::frame(AddressSpaces::State space, JitCode::View jit, const Address& address) {
  if (cache_.empty()) cache_.resize(kCacheSize);
  const auto tag =
      static_cast<uint16_t>(1 | static_cast<unsigned>(address.space) << 1 | static_cast<unsigned>(address.kind) << 4);
  CachedFrame& entry = cache_[base::mix(address.ip, static_cast<uint64_t>(space) << 16 | tag) % kCacheSize];
  if (entry.tag != tag || entry.ip != address.ip || entry.space != space || entry.jit != jit) {
    entry = {address.ip, space, jit, tag, make_frame(space, jit, address)};
  }
  return entry.frame;
}

void StackResolver::cut_path(const Surroundings& surroundings) {
  size_t same = 0;
  if (surroundings == path_surroundings_) {
    const size_t most = std::min(path_.size(), addresses_.size());
    while (same < most && path_[same].address == addresses_[addresses_.size() - 1 - same]) ++same;
  }
  path_.resize(same);
  path_surroundings_ = surroundings;
}

StackResolver::Resolved StackResolver::resolve(const SampleKey& key) {
  collect_addresses(key);
  const AddressSpaces::State user_space = user_space_of(key);
  const JitCode::View jit = user_space == key.user_space ? key.jit : 0;
  cut_path({user_space, key.kernel_space, jit});
  model::StackId stack = path_.empty() ? model::StackId{} : path_.back().stack;
  for (size_t i = addresses_.size() - path_.size(); i-- > 0;) {
    const Address& address = addresses_[i];
    const model::FrameId at =
        address.space == Space::kUser ? frame(user_space, jit, address) : frame(key.kernel_space, 0, address);
    stack = assembler_.stack(stack, at);
    path_.push_back({address, stack});
  }
  const bool has_user_frame = std::ranges::any_of(addresses_, [](const Address& a) { return a.space == Space::kUser; });
  return {.stack = stack, .addresses = chain_addresses_, .has_user_frame = has_user_frame};
}

}  // namespace tephra::stream
