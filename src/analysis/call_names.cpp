#include "analysis/call_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"

namespace tephra::analysis {
namespace {

constexpr uint32_t kUnset = UINT32_MAX;

}  // namespace

size_t CallNames::Hash::operator()(const CallName& name) const {
  const uint64_t kind = static_cast<uint64_t>(name.kind) << 1 | static_cast<uint64_t>(name.inlined);
  return base::hash_bytes(base::as_bytes(name.label), seed ^ kind);
}

CallNames::CallNames(const model::Profile& profile, const LabelOptions& options)
    : profile_(profile), options_(options), of_frame_(profile.frames.size(), kUnset) {
  add(CallName{"all", FrameKind::kBase, false});
}

uint32_t CallNames::add(CallName name) {
  return ids_.try_emplace(std::move(name), static_cast<uint32_t>(ids_.size())).first->second;
}

uint32_t CallNames::of(model::FrameId frame) {
  uint32_t& id = of_frame_[frame.value];
  if (id == kUnset) id = look_up(frame);
  return id;
}

// Only the label of a frame without a function depends on more than function, kind and inlining.
uint32_t CallNames::look_up(model::FrameId frame) {
  const FrameKind kind = frame_kind(profile_, frame);
  const bool inlined = is_inlined(profile_, frame);
  const auto label = [&] { return frame_label(profile_, frame, options_); };
  if (profile_.function_name(frame).empty()) return add({label(), kind, inlined});
  const uint64_t key = static_cast<uint64_t>(profile_.frames[frame].function.value) << 8 |
                       static_cast<uint64_t>(kind) << 1 | static_cast<uint64_t>(inlined);
  const auto [at, fresh] = of_function_.try_emplace(key);
  if (fresh) at->second = add({label(), kind, inlined});
  return at->second;
}

std::vector<uint32_t> CallNames::of_threads(BaseFrame base) {
  std::vector<uint32_t> of_thread(profile_.threads.size(), 0);
  if (base == BaseFrame::kNone) return of_thread;
  model::for_each_id(profile_.threads, [&](model::ThreadId id) {
    const model::Thread& thread = profile_.threads[id];
    if (!thread.comm && thread.pid < 0 && thread.tid < 0) return;
    of_thread[id.value] = add({base_label(profile_, thread, base), FrameKind::kBase, false});
  });
  return of_thread;
}

std::vector<CallName> CallNames::take_sorted(std::vector<uint32_t>& rank) {
  std::vector<std::pair<CallName, uint32_t>> all;
  all.reserve(ids_.size());
  while (!ids_.empty()) {
    auto node = ids_.extract(ids_.begin());
    all.emplace_back(std::move(node.key()), node.mapped());
  }
  std::sort(all.begin(), all.end());
  std::vector<CallName> names;
  names.reserve(all.size());
  rank.resize(all.size());
  for (auto& [name, id] : all) {
    rank[id] = static_cast<uint32_t>(names.size());
    names.push_back(std::move(name));
  }
  return names;
}

std::string base_label(const model::Profile& profile, const model::Thread& thread, BaseFrame base) {
  auto comm = profile.text(thread.comm);
  if (comm.empty()) comm = "[unknown thread]";
  switch (base) {
    case BaseFrame::kCommPid:
      return fmt::format("{}-{}", comm, thread.pid);
    case BaseFrame::kCommPidTid:
      return fmt::format("{}-{}/{}", comm, thread.pid, thread.tid);
    default:
      return std::string(comm);
  }
}

}  // namespace tephra::analysis
