#pragma once

#include <string>

#include "analysis/diff.h"
#include "views/diff_text.h"

namespace tephra::views {

// Everything as one JSON object: both sides, the method, all functions, all call paths, what may be renamed, moved or
// shifted, and the regressions that were found.
std::string diff_json(const analysis::Diff& diff, const DiffSideText& before, const DiffSideText& after,
                      const std::vector<analysis::Regression>& regressions);

}  // namespace tephra::views
