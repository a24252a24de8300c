#include "analysis/wait_frames.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "analysis/added_frames.h"
#include "analysis/wakers.h"
#include "base/number_hash.h"
#include "stream/wait_states.h"

namespace tephra::analysis {
namespace {

using model::FrameId;
using model::Profile;
using model::StackId;

// Stacks that stand on another frame.
class RaisedStacks {
 public:
  explicit RaisedStacks(Profile& profile) : profile_(profile) {}

  StackId on(StackId base, StackId stack) {
    path_.clear();
    StackId raised;
    for (; !raised; stack = profile_.stacks[stack].parent) {
      if (!stack) {
        raised = base;
        break;
      }
      if (const auto known = known_.find(key(base, stack)); known != known_.end()) {
        raised = known->second;
        break;
      }
      path_.push_back(stack);
    }
    for (; !path_.empty(); path_.pop_back()) {
      raised = profile_.stacks.add({raised, profile_.stacks[path_.back()].frame});
      known_.emplace(key(base, path_.back()), raised);
    }
    return raised;
  }

 private:
  static uint64_t key(StackId base, StackId stack) { return uint64_t{base.value} << 32 | stack.value; }

  Profile& profile_;
  std::unordered_map<uint64_t, StackId, base::NumberHash> known_;
  std::vector<StackId> path_;
};

bool is_stack_lost(const Profile& profile, size_t row) {
  if (profile.samples.labels.empty()) return false;
  const auto& labels = profile.label_sets[profile.samples.labels[row]].labels;
  return std::ranges::any_of(labels, [&](const model::Label& label) {
    return profile.text(label.key) == stream::kStackLabel && profile.text(label.text) == stream::kStackNotKept;
  });
}

}  // namespace

bool is_wait_frame(std::string_view name) {
  if (!name.starts_with('[') || !name.ends_with(']')) return false;
  if (name.starts_with(kWokenBy)) return true;
  for (size_t kind = 1; kind < kWaitKinds; ++kind) {
    if (name.substr(1, name.size() - 2) == wait_kind_name(static_cast<WaitKind>(kind))) return true;
  }
  return false;
}

Profile with_wait_frames(Profile profile, const std::vector<WaitKind>& kinds) {
  RaisedStacks raised(profile);
  std::array<StackId, kWaitKinds> bases{};
  for (size_t row = 0; row < kinds.size(); ++row) {
    if (kinds[row] == WaitKind::kNone) continue;
    StackId& base = bases[static_cast<size_t>(kinds[row])];
    if (!base) {
      const FrameId frame = add_frame("[" + std::string(wait_kind_name(kinds[row])) + "]", profile);
      base = profile.stacks.add({StackId{}, frame});
    }
    profile.samples.stack[row] = raised.on(base, profile.samples.stack[row]);
  }
  return profile;
}

Profile with_lost_stacks(Profile profile) {
  StackId lost;
  for (size_t row = 0; row < profile.samples.size(); ++row) {
    if (profile.samples.stack[row] || !is_stack_lost(profile, row)) continue;
    if (!lost) lost = profile.stacks.add({StackId{}, add_frame("[stack map full]", profile)});
    profile.samples.stack[row] = lost;
  }
  return profile;
}

}  // namespace tephra::analysis
