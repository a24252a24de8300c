#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "views/flame_svg.h"
#include "views/flame_tree_subject.h"

namespace tephra::views {
namespace {

using analysis::CallNode;
using analysis::first_of;
using analysis::PairTree;
using analysis::second_of;

constexpr int kScaleSteps = 9;

// From red over grey to blue, for -1 to 1.
std::string red_to_blue(double value) {
  constexpr int kGrey = 226;
  constexpr int kRed[3] = {232, 74, 60};
  constexpr int kBlue[3] = {58, 110, 226};
  const int* end = value < 0 ? kRed : kBlue;
  const double part = std::min(std::abs(value), 1.0);
  const auto channel = [&](int i) { return static_cast<int>(std::lround(kGrey + (end[i] - kGrey) * part)); };
  return rgb_color(channel(0), channel(1), channel(2));
}

// A ratio four times that of the whole is as blue as can be, a quarter as red.
class RatioSubject : public FlameSubject {
 public:
  RatioSubject(const model::Profile& profile, const PairTree& tree, const RatioNames& names,
               const FlameSvgOptions& options, uint64_t total)
      : profile_(profile),
        tree_(tree.tree),
        names_(names),
        options_(options),
        total_(total),
        whole_(ratio(tree_.root().total)) {}

  void describe(const analysis::FlameRect& rect, FlameBox& box) override {
    const CallNode& node = tree_.nodes[rect.node];
    set_name(box, tree_.name(node).label, options_.full_names);
    box.color = red_to_blue(shade(node.total));
    box.add_detail(fmt::format("{} {}, {} of all", scaled(first_of(node.total), options_.factor), names_.first,
                               base::percent(first_of(node.total), total_)));
    box.add_detail(fmt::format("{} {}", scaled(second_of(node.total), options_.factor), names_.second));
    box.add_detail(second_of(node.total) == 0 ? fmt::format("no {} were sampled here", names_.second)
                                              : fmt::format("{:.3g} {} per {} (all: {:.3g})", ratio(node.total),
                                                            names_.first, names_.second, whole_));
    if (const std::string code = code_text(profile_, node, tree_.name(node)); !code.empty()) box.add_detail(code);
  }

  FlameLegend legend() const override {
    FlameLegend legend;
    for (int i = 0; i < kScaleSteps; ++i) legend.scale.push_back(red_to_blue(2.0 * i / (kScaleSteps - 1) - 1));
    if (options_.negate) std::reverse(legend.scale.begin(), legend.scale.end());
    legend.scale_begin = fmt::format("{:.3g}", whole_ / 4);
    legend.scale_end =
        fmt::format("{:.3g} {} per {}, grey as in the whole: {:.3g}", whole_ * 4, names_.first, names_.second, whole_);
    return legend;
  }

  void write_metadata(base::JsonWriter& json) const override {
    json.member("weight", names_.first).member("per", names_.second).member("ratio", whole_);
  }

 private:
  static double ratio(const model::Totals& totals) {
    return static_cast<double>(first_of(totals)) / static_cast<double>(std::max<uint64_t>(second_of(totals), 1));
  }
  double shade(const model::Totals& totals) const {
    if (first_of(totals) == 0 || whole_ <= 0) return 0;
    const double octaves = second_of(totals) == 0 ? 2 : std::log2(ratio(totals) / whole_);
    return std::clamp(octaves / 2, -1.0, 1.0) * (options_.negate ? -1 : 1);
  }

  const model::Profile& profile_;
  const analysis::CallTree& tree_;
  const RatioNames& names_;
  const FlameSvgOptions& options_;
  const uint64_t total_;
  const double whole_;
};

// Far beyond all counts, and small enough for what is done with it.
int64_t as_signed(uint64_t number) { return static_cast<int64_t>(std::min<uint64_t>(number, INT64_MAX / 32)); }

int64_t change(const model::Totals& totals) { return as_signed(second_of(totals)) - as_signed(first_of(totals)); }

std::string signed_text(int64_t number, double factor) {
  const auto size = static_cast<uint64_t>(number < 0 ? -number : number);
  return (number < 0 ? "-" : "+") + scaled(size, factor);
}

// As flamegraph.pl draws lines with two numbers: the colour is of what the frame itself gained or lost, against the
// largest such change.
class DifferenceSubject : public FlameSubject {
 public:
  DifferenceSubject(const model::Profile& profile, const PairTree& tree, const FlameSvgOptions& options, uint64_t total)
      : profile_(profile), tree_(tree.tree), options_(options), total_(total) {
    for (const CallNode& node : tree_.nodes) most_ = std::max(most_, std::abs(change(node.self)));
  }

  void describe(const analysis::FlameRect& rect, FlameBox& box) override {
    const CallNode& node = tree_.nodes[rect.node];
    set_name(box, tree_.name(node).label, options_.full_names);
    box.color = color(change(node.self));
    box.add_detail(fmt::format("{} {}, {} of all", scaled(second_of(node.total), options_.factor), options_.count_name,
                               base::percent(second_of(node.total), total_)));
    box.add_detail(fmt::format("{} before: {}; itself {}", scaled(first_of(node.total), options_.factor),
                               signed_text(change(node.total), options_.factor),
                               signed_text(change(node.self), options_.factor)));
    if (const std::string code = code_text(profile_, node, tree_.name(node)); !code.empty()) box.add_detail(code);
  }

  FlameLegend legend() const override {
    FlameLegend legend;
    for (int i = 0; i < kScaleSteps; ++i) {
      legend.scale.push_back(color((2 * i - (kScaleSteps - 1)) * most_ / (kScaleSteps - 1)));
    }
    legend.scale_begin = fmt::format("less by {}", scaled(static_cast<uint64_t>(most_), options_.factor));
    legend.scale_end = fmt::format("more by {}", scaled(static_cast<uint64_t>(most_), options_.factor));
    return legend;
  }

  void write_metadata(base::JsonWriter& json) const override {
    json.member("weight", "after").member("unit", options_.count_name).member("largest_change", most_);
  }

 private:
  std::string color(int64_t value) const {
    if (value == 0) return "#e9e8e6";
    const double part = 1 - std::abs(static_cast<double>(value)) / static_cast<double>(most_);
    const auto pale = static_cast<int>(210 * std::clamp(part, 0.0, 1.0));
    return (value > 0) != options_.negate ? rgb_color(255, pale, pale) : rgb_color(pale, pale, 255);
  }

  const model::Profile& profile_;
  const analysis::CallTree& tree_;
  const FlameSvgOptions& options_;
  const uint64_t total_;
  int64_t most_ = 1;
};

template <class MakeSubject>
std::string draw_pair(const PairTree& tree, analysis::Weight weight, const analysis::Verdict& verdict,
                      const FlameSvgOptions& options, MakeSubject make_subject) {
  const uint64_t total = std::max(analysis::weight_of(tree.tree.root().total, weight), options.total);
  auto layout = analysis::flame_layout(tree.tree, weight, narrowest_weight(options, total));
  analysis::widen(layout, total);
  auto subject = make_subject(total);
  return draw_flame(subject, layout, verdict, options);
}

}  // namespace

std::string flame_ratio_svg(const model::Profile& profile, const PairTree& tree, const RatioNames& names,
                            const analysis::Verdict& verdict, const FlameSvgOptions& options) {
  return draw_pair(tree, analysis::Weight::kSamples, verdict, options,
                   [&](uint64_t total) { return RatioSubject(profile, tree, names, options, total); });
}

std::string flame_difference_svg(const model::Profile& profile, const PairTree& tree, const analysis::Verdict& verdict,
                                 const FlameSvgOptions& options) {
  return draw_pair(tree, analysis::Weight::kValue, verdict, options,
                   [&](uint64_t total) { return DifferenceSubject(profile, tree, options, total); });
}

}  // namespace tephra::views
