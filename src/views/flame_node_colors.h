#pragma once

#include <map>
#include <string>
#include <string_view>

#include "analysis/call_tree.h"
#include "analysis/frame_groups.h"
#include "model/profile.h"
#include "views/flame_picture.h"

namespace tephra::views {

// The colours of the nodes of a picture, and their legend. Palettes by origin (module, package, source) give a colour
// to the twelve groups that take most of the picture, and grey to the others: they must be told all nodes before the
// first colour is asked for. A group keeps its colour from picture to picture, unless two of the twelve would share it.
class NodeColors {
 public:
  // All must outlive this.
  NodeColors(const model::Profile& profile, const FlameSvgOptions& options);

  // `weight` is how wide the node is: groups are ranked by the area they have. Does nothing for other palettes.
  void count(const analysis::CallNode& node, const analysis::CallName& name, uint64_t weight);
  void count(const analysis::CallTree& tree);

  // "#rrggbb". Colours of nodes that are no part of the profile (the root) are not in the legend.
  std::string color(const analysis::CallNode& node, const analysis::CallName& name, bool in_legend = true);
  // The same by what a node waits for. Names that are no code keep their colour.
  std::string wait_color(std::optional<analysis::WaitKind> kind, const analysis::CallNode& node,
                         const analysis::CallName& name);
  FlameLegend legend() const;

 private:
  struct Group {
    double weight = 0;
    float hue = -1;  // negative: grey
    bool used = false;
  };
  void choose_hues();
  FlameLegend legend_of_groups() const;

  const model::Profile& profile_;
  const FlameSvgOptions& options_;
  std::optional<analysis::GroupBy> by_;
  std::map<std::string, Group> groups_;
  bool chosen_ = false;
  std::map<std::string_view, const Tone*> used_tones_;
};

}  // namespace tephra::views
