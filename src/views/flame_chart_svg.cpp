#include <fmt/format.h>

#include "base/units.h"
#include "views/flame_svg.h"
#include "views/flame_tree_subject.h"

namespace tephra::views {
namespace {

using analysis::CallName;
using analysis::CallNode;
using analysis::FlameChart;
using analysis::FrameKind;

const CallName kAll{"all", FrameKind::kBase, false};

class ChartSubject : public FlameSubject {
 public:
  ChartSubject(const model::Profile& profile, const FlameChart& chart, const FlameSvgOptions& options)
      : profile_(profile),
        chart_(chart),
        options_(options),
        nodes_(analysis::chart_nodes(chart)),
        colors_(profile, options) {
    for (const analysis::ChartNode& node : nodes_) {
      if (node.box != nullptr) colors_.count(code(*node.box), chart.names[node.box->name], node.box->samples);
    }
  }

  void describe(const analysis::FlameRect& rect, FlameBox& box) override {
    const analysis::ChartNode& node = nodes_[rect.node];
    if (node.box != nullptr) {
      describe(*node.box, box);
    } else if (node.lane != nullptr) {
      describe(*node.lane, box);
    } else {
      describe_all(box);
    }
  }

  FlameLegend legend() const override { return colors_.legend(); }

  void write_metadata(base::JsonWriter& json) const override {
    json.member("shape", "chart").member("unit", "ns").member("begin", chart_.begin).member("period", chart_.period);
  }

 private:
  static CallNode code(const FlameChart::Box& box) { return {.mapping = box.mapping}; }

  void describe_all(FlameBox& box) {
    uint64_t samples = 0;
    for (const FlameChart::Lane& lane : chart_.lanes) samples += lane.samples;
    set_name(box, kAll.label, true);
    box.color = colors_.color({}, kAll, false);
    box.add_detail(fmt::format("{}, {}, {}", base::duration_text(chart_.duration),
                               base::counted(chart_.lanes.size(), "thread"), base::counted(samples, "sample")));
  }

  void describe(const FlameChart::Lane& lane, FlameBox& box) {
    set_name(box, lane.thread, true);
    box.color = colors_.color({}, {lane.thread, FrameKind::kBase, false});
    box.add_detail(fmt::format("{}, seen running for {}, {} of the time", base::counted(lane.samples, "sample"),
                               base::duration_text(lane.running), base::percent(lane.running, chart_.duration)));
    if (lane.waiting > 0) {
      box.add_detail(fmt::format("waiting for {}, {} of the time", base::duration_text(lane.waiting),
                                 base::percent(lane.waiting, chart_.duration)));
    }
  }

  void describe(const FlameChart::Box& from, FlameBox& box) {
    const CallName& name = chart_.names[from.name];
    set_name(box, name.label, options_.full_names);
    const bool waits = from.wait != analysis::WaitKind::kNone;
    box.color = waits ? colors_.wait_color(from.wait, code(from), name) : colors_.color(code(from), name);
    if (waits) box.add_detail(fmt::format("waiting: {}", wait_kind_name(from.wait)));
    box.add_detail(fmt::format("{} from {:.6f} s on, seen in {}", base::duration_text(from.end - from.begin),
                               static_cast<double>(from.begin) / 1e9, base::counted(from.samples, "sample")));
    if (const std::string text = code_text(profile_, code(from), name); !text.empty()) box.add_detail(text);
  }

  const model::Profile& profile_;
  const FlameChart& chart_;
  const FlameSvgOptions& options_;
  const std::vector<analysis::ChartNode> nodes_;
  NodeColors colors_;
};

}  // namespace

std::string flame_chart_svg(const model::Profile& profile, const FlameChart& chart, const analysis::Verdict& verdict,
                            const FlameSvgOptions& options) {
  FlameSvgOptions looks = options;
  looks.inverted = true;  // each lane hangs below its thread
  const auto layout = analysis::chart_layout(chart, narrowest_weight(options, chart.duration));
  ChartSubject subject(profile, chart, looks);
  return draw_flame(subject, layout, verdict, looks);
}

}  // namespace tephra::views
