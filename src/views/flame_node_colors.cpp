#include "views/flame_node_colors.h"

#include <algorithm>
#include <array>
#include <vector>

namespace tephra::views {
namespace {

using analysis::CallName;
using analysis::CallNode;
using analysis::GroupBy;

constexpr size_t kColoured = 12;
// Twice as many as are given away, so that most groups get the one that their name asks for.
constexpr size_t kHues = 2 * kColoured;
constexpr size_t kKernelHue = 2;  // orange, as always
constexpr float kSaturation = .62f;
constexpr float kLightness[2] = {.64f, .74f};

std::optional<GroupBy> group_by(Palette palette) {
  if (palette == Palette::kModule) return GroupBy::kModule;
  if (palette == Palette::kPackage) return GroupBy::kPackage;
  if (palette == Palette::kSource) return GroupBy::kSource;
  return std::nullopt;
}

std::string_view name_of_none(GroupBy by) {
  switch (by) {
    case GroupBy::kModule:
      return "module unknown";
    case GroupBy::kPackage:
      return "no package";
    case GroupBy::kSource:
      return "source unknown";
  }
  return "";
}

constexpr Tone kGrey{"", {0, 0}, 0.f, {.78f, .84f}};

}  // namespace

NodeColors::NodeColors(const model::Profile& profile, const FlameSvgOptions& options)
    : profile_(profile), options_(options), by_(group_by(options.palette)) {}

void NodeColors::count(const CallNode& node, const CallName& name, uint64_t weight) {
  if (!by_ || name.kind == analysis::FrameKind::kBase) return;
  groups_[analysis::group_of(profile_, node, name, *by_)].weight += static_cast<double>(weight);
}

void NodeColors::count(const analysis::CallTree& tree) {
  if (!by_) return;
  for (const CallNode& node : tree.nodes)
    count(node, tree.name(node), analysis::weight_of(node.total, options_.weight));
}

// The heaviest come first: they keep the hue that their name asks for.
void NodeColors::choose_hues() {
  chosen_ = true;
  std::vector<std::map<std::string, Group>::value_type*> order;
  for (auto& group : groups_) {
    if (!group.first.empty()) order.push_back(&group);
  }
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->second.weight > b->second.weight; });
  if (order.size() > kColoured) order.resize(kColoured);
  std::array<bool, kHues> taken{};
  for (auto* group : order) {
    size_t hue = group->first == "[kernel]" ? kKernelHue : stable_hash(group->first) % kHues;
    while (taken[hue]) hue = (hue + 7) % kHues;
    taken[hue] = true;
    group->second.hue = static_cast<float>(hue) * (360.f / kHues);
  }
}

std::string NodeColors::color(const CallNode& node, const CallName& name, bool in_legend) {
  const Tone* tone = &frame_tone(options_.palette, name);
  std::string color;
  if (by_ && name.kind != analysis::FrameKind::kBase) {
    if (!chosen_) choose_hues();
    Group& group = groups_[analysis::group_of(profile_, node, name, *by_)];
    group.used = group.used || in_legend;
    const Tone hued{"", {group.hue, group.hue}, kSaturation, {kLightness[0], kLightness[1]}};
    color = frame_color(group.hue < 0 ? kGrey : hued, name.label);
  } else {
    if (in_legend && !tone->meaning.empty()) used_tones_.emplace(tone->meaning, tone);
    color = frame_color(*tone, name.label);
  }
  if (options_.palette_map == nullptr) return color;
  // flamegraph.pl knows the root by the empty name.
  const bool root = !in_legend && name.kind == analysis::FrameKind::kBase;
  return options_.palette_map->color(root ? std::string_view() : name.label, color);
}

std::string NodeColors::wait_color(std::optional<analysis::WaitKind> kind, const CallNode& node, const CallName& name) {
  if (name.kind == analysis::FrameKind::kBase) return color(node, name);
  const Tone& tone = wait_tone(kind);
  used_tones_.emplace(tone.meaning, &tone);
  return frame_color(tone, name.label);
}

FlameLegend NodeColors::legend_of_groups() const {
  std::vector<const std::map<std::string, Group>::value_type*> order;
  bool none = false;
  bool others = false;
  for (const auto& group : groups_) {
    if (!group.second.used) continue;
    if (group.first.empty()) {
      none = true;
    } else if (group.second.hue < 0) {
      others = true;
    } else {
      order.push_back(&group);
    }
  }
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->second.weight > b->second.weight; });
  FlameLegend legend;
  for (const auto* group : order) {
    const float lightness = (kLightness[0] + kLightness[1]) / 2;
    legend.entries.push_back({group->first, hsl_color(group->second.hue, kSaturation, lightness)});
  }
  if (others) legend.entries.push_back({"others", tone_color(kGrey)});
  if (none) legend.entries.push_back({std::string(name_of_none(*by_)), tone_color(kGrey)});
  return legend;
}

// A single colour needs no explanation. Colours from a map mean what they meant there.
FlameLegend NodeColors::legend() const {
  if (options_.palette_map != nullptr) return {};
  if (by_) return legend_of_groups();
  FlameLegend legend;
  if (used_tones_.size() < 2 && options_.waits.empty()) return legend;
  for (const auto& [meaning, tone] : used_tones_) legend.entries.push_back({std::string(meaning), tone_color(*tone)});
  return legend;
}

}  // namespace tephra::views
