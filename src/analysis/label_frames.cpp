#include "analysis/label_frames.h"

#include <fmt/format.h>

#include <unordered_map>
#include <vector>

namespace tephra::analysis {
namespace {

using model::FrameId;
using model::Profile;
using model::StackId;

std::string frame_name(const Profile& profile, const model::Label& label, LabelNaming naming) {
  const std::string_view text = profile.text(label.text);
  if (naming == LabelNaming::kText && !text.empty()) return fmt::format("[{}]", text);
  const std::string_view key = profile.text(label.key);
  if (!text.empty()) return fmt::format("{}:{}", key, text);
  return fmt::format("{}:{}{}", key, label.number, profile.text(label.unit));
}

FrameId make_frame(Profile& profile, const std::string& name) {
  const model::StringId text = profile.strings.add(name);
  const auto function = profile.functions.add({.name = text, .system_name = text, .named = true});
  const auto mapping = profile.mappings.add({.kind = model::CodeKind::kImported});
  return profile.frames.add({.mapping = mapping, .function = function});
}

// By set of labels: the frame of its label; FrameId{} where it has none.
std::vector<FrameId> frames_of_sets(Profile& profile, std::string_view key, LabelNaming naming) {
  std::vector<FrameId> frames(profile.label_sets.size());
  std::unordered_map<std::string, FrameId> known;
  for (uint32_t i = 0; i < frames.size(); ++i) {
    for (const model::Label& label : profile.label_sets[model::LabelSetId{i}].labels) {
      if (profile.text(label.key) != key) continue;
      const auto [at, fresh] = known.try_emplace(frame_name(profile, label, naming));
      if (fresh) at->second = make_frame(profile, at->first);
      frames[i] = at->second;
      break;
    }
  }
  return frames;
}

// Stacks with a frame more. Parents stay before their children: rows are only appended.
class LongerStacks {
 public:
  LongerStacks(Profile& profile, LabelPlace place) : profile_(profile), place_(place) {}

  StackId with(StackId stack, FrameId frame) {
    return place_ == LabelPlace::kLeaf ? push(stack, frame) : below(stack, frame);
  }

 private:
  StackId push(StackId parent, FrameId frame) {
    const uint64_t key = static_cast<uint64_t>(parent.value) << 32 | frame.value;
    const auto [at, fresh] = pushed_.try_emplace(key);
    if (fresh) at->second = profile_.stacks.add({parent, frame});
    return at->second;
  }

  // The whole stack on top of `root`.
  StackId below(StackId stack, FrameId root) {
    auto& copies = copies_[root.value];
    std::vector<StackId> chain;
    StackId at = stack;
    for (; at && !copies.contains(at.value); at = profile_.stacks[at].parent) chain.push_back(at);
    StackId copy = at ? copies[at.value] : push({}, root);
    for (auto next = chain.rbegin(); next != chain.rend(); ++next) {
      copy = push(copy, profile_.stacks[*next].frame);
      copies[next->value] = copy;
    }
    return copy;
  }

  Profile& profile_;
  LabelPlace place_;
  std::unordered_map<uint64_t, StackId> pushed_;
  std::unordered_map<uint32_t, std::unordered_map<uint32_t, StackId>> copies_;  // by root and old stack
};

}  // namespace

bool add_label_frames(Profile& profile, std::string_view key, LabelPlace place, LabelNaming naming) {
  model::Samples& samples = profile.samples;
  if (samples.labels.empty()) return false;
  const std::vector<FrameId> frames = frames_of_sets(profile, key, naming);
  LongerStacks stacks(profile, place);
  bool any = false;
  for (size_t i = 0; i < samples.size(); ++i) {
    const FrameId frame = frames[samples.labels[i].value];
    if (!frame) continue;
    samples.stack[i] = stacks.with(samples.stack[i], frame);
    any = true;
  }
  return any;
}

}  // namespace tephra::analysis
