#include "views/flame_tree_subject.h"

#include <fmt/format.h>

#include <cmath>

#include "base/names.h"
#include "base/units.h"

namespace tephra::views {

using analysis::CallName;
using analysis::CallNode;
using analysis::FrameKind;

namespace {

constexpr std::string_view kMiddleDot = " \u00B7 ";

}  // namespace

TreeSubject::TreeSubject(const model::Profile& profile, const analysis::CallTree& tree, NodeColors& colors,
                         const FlameSvgOptions& options, uint64_t total)
    : profile_(profile), tree_(tree), colors_(colors), options_(options), total_(total) {
  if (profile.samples.size() > 0) unit_ = profile.text(profile.events[profile.samples.event[0]].unit);
}

void TreeSubject::describe(const analysis::FlameRect& rect, FlameBox& box) {
  const CallNode& node = tree_.nodes[rect.node];
  const CallName& name = tree_.name(node);
  set_name(box, name.label, options_.full_names);
  const bool waits = rect.node != 0 && rect.node < options_.waits.size();
  const auto kind = waits ? options_.waits[rect.node] : std::nullopt;
  box.color = waits ? colors_.wait_color(kind, node, name) : colors_.color(node, name, rect.node != 0);
  box.add_detail(weight_line(node));
  if (kind && kind != analysis::WaitKind::kNone && kind != analysis::WaitKind::kWaker) {
    box.add_detail("waits mostly: " + std::string(analysis::wait_kind_name(*kind)));
  }
  if (const std::string code = code_text(profile_, node, name); !code.empty()) box.add_detail(code);
}

void TreeSubject::write_metadata(base::JsonWriter& json) const {
  json.member("weight", options_.weight == analysis::Weight::kSamples ? "samples" : "value");
  json.member("unit", unit_);
}

std::string TreeSubject::weight_line(const CallNode& node) const {
  const uint64_t weight = analysis::weight_of(node.total, options_.weight);
  const uint64_t self = analysis::weight_of(node.self, options_.weight);
  std::string line = weight_text(node.total);
  line.append(", ").append(base::percent(weight, total_)).append(" of all");
  if (self > 0) line.append(" (self ").append(base::percent(self, total_)).append(")");
  if (const std::string other = other_weight_text(node.total); !other.empty()) line.append(kMiddleDot).append(other);
  return line;
}

std::string TreeSubject::samples_text(const model::Totals& totals) const {
  return scaled(totals.count, options_.factor) + " " + options_.count_name;
}

std::string TreeSubject::weight_text(const model::Totals& totals) const {
  return options_.weight == analysis::Weight::kSamples ? samples_text(totals) : value_text(totals);
}

std::string TreeSubject::value_text(const model::Totals& totals) const {
  const double value = static_cast<double>(totals.value) * options_.factor;
  const std::string text = base::quantity(options_.factor == 1 ? totals.value : static_cast<uint64_t>(value), unit_);
  return unit_.empty() || unit_ == "ns" || unit_ == "bytes" ? text : text + " " + std::string(unit_);
}

std::string TreeSubject::other_weight_text(const model::Totals& totals) const {
  if (options_.weight == analysis::Weight::kValue) return samples_text(totals);
  return totals.value == 0 || totals.value == totals.count ? "" : value_text(totals);
}

std::string code_text(const model::Profile& profile, const CallNode& node, const CallName& name) {
  std::string text;
  const auto join = [&](std::string_view part) {
    if (!text.empty()) text += kMiddleDot;
    text += part;
  };
  if (node.mapping && profile.mappings[node.mapping].kind != model::CodeKind::kImported) {
    join(analysis::module_name(profile, node.mapping));
  }
  if (node.file) {
    std::string file(profile.text(node.file));
    if (node.first_line != 0) file += fmt::format(":{}", node.first_line);
    if (node.last_line != node.first_line) file += fmt::format("\u2013{}", node.last_line);
    join(file);
  }
  if (name.inlined) join("inlined");
  if (name.kind == FrameKind::kKernel) join("kernel");
  if (name.kind == FrameKind::kJit) join("generated code");
  if (name.kind == FrameKind::kInterpreted) join("interpreter");
  if (name.kind == FrameKind::kWaiting) join("waiting");
  return text;
}

void set_name(FlameBox& box, std::string_view label, bool full_names) {
  box.name = analysis::without_mark(label);
  box.shown = full_names ? box.name : base::shorten_cpp_name(box.name);
}

std::string scaled(uint64_t number, double factor) {
  if (factor == 1) return base::with_separators(number);
  const double product = static_cast<double>(number) * factor;
  return product < 1e18 ? base::with_separators(static_cast<uint64_t>(std::llround(product)))
                        : fmt::format("{:.3e}", product);
}

}  // namespace tephra::views
