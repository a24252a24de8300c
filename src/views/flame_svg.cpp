#include "views/flame_svg.h"

#include "views/flame_tree_subject.h"

namespace tephra::views {

std::string flame_svg(const model::Profile& profile, const analysis::CallTree& tree, const analysis::Verdict& verdict,
                      const FlameSvgOptions& options) {
  const uint64_t total = std::max(analysis::weight_of(tree.root().total, options.weight), options.total);
  auto layout = analysis::flame_layout(tree, options.weight, narrowest_weight(options, total));
  analysis::widen(layout, total);
  NodeColors colors(profile, options);
  colors.count(tree);
  TreeSubject subject(profile, tree, colors, options, total);
  return draw_flame(subject, layout, verdict, options);
}

}  // namespace tephra::views
