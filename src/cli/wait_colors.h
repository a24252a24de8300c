#pragma once

#include "analysis/call_tree.h"
#include "model/profile.h"
#include "views/flame_picture.h"

namespace tephra::cli {

// The call tree of a profile and, where it holds waits, the colours of a picture of it by what is waited for.
analysis::CallTree tree_with_wait_colors(const model::Profile& profile, analysis::CallTreeOptions options,
                                         views::FlameSvgOptions& looks);

}  // namespace tephra::cli
