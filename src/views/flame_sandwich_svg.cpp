#include "views/flame_svg.h"
#include "views/flame_tree_subject.h"

namespace tephra::views {
namespace {

class SandwichSubject : public FlameSubject {
 public:
  SandwichSubject(const model::Profile& profile, const analysis::Sandwich& sandwich, NodeColors& colors,
                  const FlameSvgOptions& options, uint64_t total)
      : callees_(profile, sandwich.callees, colors, options, total),
        callers_(profile, sandwich.callers, colors, options, total),
        first_caller_(static_cast<uint32_t>(sandwich.callees.nodes.size())) {}

  void describe(const analysis::FlameRect& rect, FlameBox& box) override {
    if (rect.node < first_caller_) {
      callees_.describe(rect, box);
    } else {
      callers_.describe({rect.x, rect.width, rect.depth, rect.node - first_caller_}, box);
    }
  }
  FlameLegend legend() const override { return callees_.legend(); }
  void write_metadata(base::JsonWriter& json) const override {
    json.member("shape", "sandwich");
    callees_.write_metadata(json);
  }

 private:
  TreeSubject callees_;
  TreeSubject callers_;
  const uint32_t first_caller_;
};

}  // namespace

std::string sandwich_svg(const model::Profile& profile, const analysis::Sandwich& sandwich,
                         const analysis::Verdict& verdict, const FlameSvgOptions& options) {
  const uint64_t total = analysis::weight_of(sandwich.callees.root().total, options.weight);
  const auto layout = analysis::sandwich_layout(sandwich, options.weight, narrowest_weight(options, total));
  NodeColors colors(profile, options);
  colors.count(sandwich.callees);
  colors.count(sandwich.callers);
  // Shares are of the whole profile, so that they can be compared with those of other pictures.
  const model::Totals all = model::totals(profile);
  SandwichSubject subject(profile, sandwich, colors, options, analysis::weight_of(all, options.weight));
  FlameSvgOptions looks = options;
  looks.inverted = true;  // callers have negative levels: they come out above
  return draw_flame(subject, layout, verdict, looks);
}

}  // namespace tephra::views
