#include "views/diff_flame.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/names.h"
#include "views/diff_text.h"
#include "views/flame_colors.h"

namespace tephra::views {
namespace {

using analysis::Diff;
using analysis::DiffNode;
using analysis::DiffValue;

using Rgb = std::array<double, 3>;
constexpr Rgb kGrey{214, 214, 214};
constexpr Rgb kPale[] = {{196, 214, 250}, {252, 208, 196}};  // shrank a little, grew a little
constexpr Rgb kStrong[] = {{84, 132, 240}, {232, 72, 56}};   // shrank most, grew most; dark text can be read on both
// Widths are whole numbers: fine enough for any screen.
constexpr double kWidthOfAll = 1e12;

std::string hex(const Rgb& color) {
  return rgb_color(static_cast<int>(color[0]), static_cast<int>(color[1]), static_cast<int>(color[2]));
}

std::string mixed(bool grew, double strength) {
  Rgb color{};
  for (size_t i = 0; i < color.size(); ++i) {
    color[i] = kPale[grew][i] + (kStrong[grew][i] - kPale[grew][i]) * strength;
  }
  return hex(color);
}

class DiffSubject : public FlameSubject {
 public:
  DiffSubject(const Diff& diff, const DiffFlameOptions& options) : diff_(diff), options_(options) {
    order_nodes();
    for (const DiffValue& value : diff.tests.paths) {
      if (is_colored(value)) largest_ = std::max(largest_, std::fabs(value.change()));
    }
  }

  const std::vector<analysis::FlameNode>& nodes() const { return flame_nodes_; }

  void describe(const analysis::FlameRect& rect, FlameBox& box) override {
    const uint32_t index = order_[rect.node];
    const DiffNode& node = diff_.tree.nodes[index];
    const DiffValue& value = diff_.tests.paths[index];
    box.name = index == 0 ? "all" : diff_.tree.functions[node.function].name;
    box.shown = options_.picture.full_names ? box.name : base::shorten_cpp_name(box.name);
    box.color = color(value);
    box.add_detail(
        fmt::format("before {}, after {}", diff_amount(diff_, value.before), diff_amount(diff_, value.after)));
    box.add_detail(change_text(value));
    if (index == 0) return;
    const analysis::DiffFunctionName& function = diff_.tree.functions[node.function];
    if (!function.before_name.empty()) box.add_detail("called before: " + function.before_name);
    if (const uint32_t parent = diff_.moves.shifted_within[index]; parent != 0) {
      box.add_detail("shifted: its caller as a whole did not change");
    }
    if (!function.module.empty() && function.module != "[unknown]") box.add_detail(function.module);
  }

  FlameLegend legend() const override {
    constexpr int kSteps = 4;
    FlameLegend legend;
    legend.entries.push_back({diff_.tests.spread.tested ? "within noise" : "unchanged", hex(kGrey)});
    if (largest_ == 0) return legend;
    for (int i = kSteps; i > 0; --i) legend.scale.push_back(mixed(options_.negate, i / double{kSteps}));
    for (int i = 1; i <= kSteps; ++i) legend.scale.push_back(mixed(!options_.negate, i / double{kSteps}));
    const double percent = diff_.of_base(largest_) * 100;
    legend.scale_begin = fmt::format("shrank by {:.2g} % of all", percent);
    legend.scale_end = fmt::format("grew by {:.2g} % of all", percent);
    return legend;
  }

  void write_metadata(base::JsonWriter& json) const override {
    json.member("weight", "difference").member("normalisation", normalisation_text(diff_));
    json.member("width", options_.width == DiffWidth::kBoth     ? "both"
                         : options_.width == DiffWidth::kBefore ? "before"
                                                                : "after");
  }

 private:
  // Frames depth-first, with the width of their own.
  void order_nodes() {
    const auto& nodes = diff_.tree.nodes;
    std::vector<double> self(nodes.size());
    const double all = std::max(1e-300, std::max(width(diff_.tests.paths[0]), 0.0));
    for (size_t i = nodes.size(); i-- > 0;) {
      self[i] += width(diff_.tests.paths[i]);
      if (i != 0) self[nodes[i].parent] -= width(diff_.tests.paths[i]);
    }
    std::vector<uint32_t> place(nodes.size());
    std::vector<uint32_t> open{0};
    while (!open.empty()) {
      const uint32_t node = open.back();
      open.pop_back();
      place[node] = static_cast<uint32_t>(order_.size());
      order_.push_back(node);
      const auto own = static_cast<uint64_t>(std::llround(std::max(0.0, self[node]) / all * kWidthOfAll));
      flame_nodes_.push_back({place[nodes[node].parent], own, own});
      if (node != 0 && nodes[node].next_sibling != 0) open.push_back(nodes[node].next_sibling);
      if (nodes[node].first_child != 0) open.push_back(nodes[node].first_child);
    }
    for (size_t i = flame_nodes_.size(); --i > 0;) flame_nodes_[flame_nodes_[i].parent].total += flame_nodes_[i].total;
  }

  double width(const DiffValue& value) const {
    switch (options_.width) {
      case DiffWidth::kBefore:
        return value.before;
      case DiffWidth::kAfter:
        return value.after;
      default:
        return (value.before + value.after) / 2;
    }
  }

  // Without tests all changes are shown.
  bool is_colored(const DiffValue& value) const {
    return diff_.tests.spread.tested ? value.finding : value.change() != 0;
  }

  std::string color(const DiffValue& value) const {
    if (!is_colored(value) || largest_ == 0) return hex(kGrey);
    // By the root, so that changes of a tenth of the largest can still be told from none.
    return mixed((value.change() > 0) != options_.negate, std::sqrt(std::fabs(value.change()) / largest_));
  }

  std::string change_text(const DiffValue& value) const {
    const auto percent = [&](double part) { return fmt::format("{:+.2f}", diff_.of_base(part) * 100); };
    std::string text = fmt::format("{} % of all", percent(value.change()));
    if (value.tested) text += fmt::format(" (95 %: {} to {})", percent(value.low), percent(value.high));
    if (value.finding)
      text += value.q < 0.001 ? ", false-discovery rate below 0.001"
                              : fmt::format(", false-discovery rate {:.3f}", value.q);
    if (value.finding && value.before == 0) text += ", new";
    if (value.finding && value.after == 0) text += ", gone";
    if (value.tested && !value.finding) text += ", within noise";
    if (value.few && diff_.tests.spread.tested) text += ", too few samples to tell";
    return text;
  }

  const Diff& diff_;
  const DiffFlameOptions& options_;
  std::vector<uint32_t> order_;  // nodes of the tree, as frames are ordered
  std::vector<analysis::FlameNode> flame_nodes_;
  double largest_ = 0;
};

}  // namespace

std::string diff_flame(const Diff& diff, const analysis::Verdict& verdict, const DiffFlameOptions& options) {
  DiffSubject subject(diff, options);
  const auto& nodes = subject.nodes();
  const auto layout = analysis::flame_layout(nodes, narrowest_weight(options.picture, nodes[0].total));
  return draw_flame(subject, layout, verdict, options.picture);
}

}  // namespace tephra::views
