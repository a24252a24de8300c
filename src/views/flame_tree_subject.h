#pragma once

#include <string>
#include <string_view>

#include "analysis/call_tree.h"
#include "model/profile.h"
#include "views/flame_node_colors.h"
#include "views/flame_picture.h"

namespace tephra::views {

// A call tree of a profile; nodes of rectangles are rows of the tree.
class TreeSubject : public FlameSubject {
 public:
  // All must outlive this. `total` is what shares are of.
  TreeSubject(const model::Profile& profile, const analysis::CallTree& tree, NodeColors& colors,
              const FlameSvgOptions& options, uint64_t total);

  void describe(const analysis::FlameRect& rect, FlameBox& box) override;
  FlameLegend legend() const override { return colors_.legend(); }
  void write_metadata(base::JsonWriter& json) const override;

 private:
  std::string weight_line(const analysis::CallNode& node) const;
  std::string samples_text(const model::Totals& totals) const;
  std::string weight_text(const model::Totals& totals) const;
  std::string value_text(const model::Totals& totals) const;
  std::string other_weight_text(const model::Totals& totals) const;

  const model::Profile& profile_;
  const analysis::CallTree& tree_;
  NodeColors& colors_;
  const FlameSvgOptions& options_;
  const uint64_t total_;
  std::string_view unit_;
};

// What the details of a box say about its code: module, source lines, kind. Empty where nothing is known.
std::string code_text(const model::Profile& profile, const analysis::CallNode& node, const analysis::CallName& name);
// Name and shown name of a box.
void set_name(FlameBox& box, std::string_view label, bool full_names);
// A number with separators, multiplied by the factor.
std::string scaled(uint64_t number, double factor);

}  // namespace tephra::views
