#include "cli/wait_colors.h"

#include "analysis/wait_kind.h"

namespace tephra::cli {

analysis::CallTree tree_with_wait_colors(const model::Profile& profile, analysis::CallTreeOptions options,
                                         views::FlameSvgOptions& looks) {
  const std::vector<analysis::WaitKind> kinds = analysis::wait_kinds(profile);
  options.keep_leaves = !kinds.empty();
  analysis::CallTree tree = analysis::call_tree(profile, options);
  if (!kinds.empty()) looks.waits = analysis::kinds_of_nodes(tree, profile, kinds, looks.weight);
  return tree;
}

}  // namespace tephra::cli
