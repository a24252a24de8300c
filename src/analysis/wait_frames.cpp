#include "analysis/wait_frames.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "analysis/added_frames.h"
#include "analysis/lock_names.h"
#include "analysis/wakers.h"
#include "base/number_hash.h"
#include "stream/wait_states.h"

namespace tephra::analysis {
namespace {

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

// The frame that stands for stacks that are not there, by the reason; null: they are, or nobody says why not.
const char* stand_in(std::string_view reason) {
  if (reason == stream::kStackNotKept) return "[stack map full]";
  if (reason == stream::kStackNotSampled) return "[not sampled]";
  return reason == stream::kStackLost ? "[stack lost]" : nullptr;
}

// Of each set of labels.
std::vector<const char*> stand_ins(const Profile& profile) {
  std::vector<const char*> frames;
  for (const model::LabelSet& set : profile.label_sets) {
    const auto says_why = [&](const model::Label& label) { return profile.text(label.key) == stream::kStackLabel; };
    const auto why = std::ranges::find_if(set.labels, says_why);
    frames.push_back(why == set.labels.end() ? nullptr : stand_in(profile.text(why->text)));
  }
  return frames;
}

// Of each set of labels; they outlive changes of the profile.
std::vector<std::string> kept_lock_names(const Profile& profile) {
  const auto names = lock_names(profile);
  return {names.begin(), names.end()};
}

}  // namespace

bool is_wait_frame(std::string_view name) {
  if (!name.starts_with('[') || !name.ends_with(']')) return false;
  if (name.starts_with(kWokenBy) || name.starts_with("[lock ")) return true;
  for (size_t kind = 1; kind < kWaitKinds; ++kind) {
    if (name.substr(1, name.size() - 2) == wait_kind_name(static_cast<WaitKind>(kind))) return true;
  }
  return false;
}

Profile with_wait_frames(Profile profile, const std::vector<WaitKind>& kinds, LockNames lock_names) {
  RaisedStacks raised(profile);
  const bool names_locks = lock_names == LockNames::kShow && !profile.samples.labels.empty();
  const std::vector<std::string> locks = names_locks ? kept_lock_names(profile) : std::vector<std::string>();
  std::map<std::pair<WaitKind, std::string_view>, StackId> bases;
  for (size_t row = 0; row < kinds.size(); ++row) {
    if (kinds[row] == WaitKind::kNone) continue;
    const bool named = names_locks && kinds[row] == WaitKind::kLock;
    const std::string_view lock = named ? locks[profile.samples.labels[row].value] : std::string_view();
    StackId& base = bases[{kinds[row], lock}];
    if (!base) {
      std::string name = "[" + std::string(wait_kind_name(kinds[row]));
      if (!lock.empty()) name.append(" ").append(lock);
      base = profile.stacks.add({StackId{}, add_frame(name + "]", profile)});
    }
    profile.samples.stack[row] = raised.on(base, profile.samples.stack[row]);
  }
  return profile;
}

Profile with_lost_stacks(Profile profile) {
  if (profile.samples.labels.empty()) return profile;
  const std::vector<const char*> frames = stand_ins(profile);
  std::map<std::string_view, StackId> stacks;
  for (size_t row = 0; row < profile.samples.size(); ++row) {
    const char* const frame = frames[profile.samples.labels[row].value];
    if (profile.samples.stack[row] || frame == nullptr) continue;
    StackId& stack = stacks[frame];
    if (!stack) stack = profile.stacks.add({StackId{}, add_frame(frame, profile)});
    profile.samples.stack[row] = stack;
  }
  return profile;
}

}  // namespace tephra::analysis
