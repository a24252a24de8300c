#pragma once

#include <string>

#include "analysis/verdict.h"
#include "base/result.h"
#include "model/profile.h"
#include "views/flame_colors.h"

namespace tephra::views {

struct ReportHtmlOptions {
  std::string title = "Profile";
  Palette palette = Palette::kKind;
  bool full_names = false;  // whole names in pictures, too
  std::string first_view;   // what is shown first, in the words of the page's address (web/src/state.ts): "view=icicle"
  std::string selection;    // what of the profile was left in before, for the reader; empty: all
};

// One self-contained HTML page about a symbolized profile, of all its events and with the time of its samples where it
// has them: it loads nothing, works from disk, and filters, searches and draws by its own script (web/src). The verdict
// is on it. Names may hold any bytes: on the page they are text. Deterministic.
base::Result<std::string> report_html(const model::Profile& profile, const analysis::Verdict& verdict,
                                      const ReportHtmlOptions& options);

}  // namespace tephra::views
