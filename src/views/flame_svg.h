#pragma once

#include <string>

#include "analysis/call_tree.h"
#include "analysis/event_pair.h"
#include "analysis/flame_chart.h"
#include "analysis/sandwich.h"
#include "analysis/verdict.h"
#include "model/profile.h"
#include "views/flame_picture.h"

namespace tephra::views {

// Pictures of what was made from `profile`, all as draw_flame() draws them.

// The flame graph of a call tree.
std::string flame_svg(const model::Profile& profile, const analysis::CallTree& tree, const analysis::Verdict& verdict,
                      const FlameSvgOptions& options);

// Callers above the function, callees below it.
std::string sandwich_svg(const model::Profile& profile, const analysis::Sandwich& sandwich,
                         const analysis::Verdict& verdict, const FlameSvgOptions& options);

// Time from left to right, a lane a thread.
std::string flame_chart_svg(const model::Profile& profile, const analysis::FlameChart& chart,
                            const analysis::Verdict& verdict, const FlameSvgOptions& options);

// Two events: frames are as wide as the first counted, and blue where it counted more for each of the second than in
// the whole, red where less.
struct RatioNames {
  std::string first;
  std::string second;
};
std::string flame_ratio_svg(const model::Profile& profile, const analysis::PairTree& tree, const RatioNames& names,
                            const analysis::Verdict& verdict, const FlameSvgOptions& options);

// Before and after: frames are as wide as after, red where they themselves became more, blue where less.
std::string flame_difference_svg(const model::Profile& profile, const analysis::PairTree& tree,
                                 const analysis::Verdict& verdict, const FlameSvgOptions& options);

}  // namespace tephra::views
