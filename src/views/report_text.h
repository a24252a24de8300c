#pragma once

#include <span>
#include <string>
#include <string_view>

#include "analysis/report.h"
#include "analysis/top.h"
#include "analysis/top_waits.h"
#include "analysis/verdict.h"
#include "model/profile.h"

namespace tephra::views {

struct ReportTextOptions {
  bool shorten = false;        // template arguments and long parameter lists collapsed
  bool sample_counts = false;  // a column with the number of samples
  std::string selection;       // which of the samples are shown, in words; empty: all
};

// The report as perf prints it: comment lines with the totals and the verdict, one line a row, call chains below.
std::string report_text(const analysis::Report& report, const analysis::Verdict& verdict,
                        const ReportTextOptions& options);

// The table of the functions that took most: shares of `whole`, samples, name and module.
std::string top_text(std::span<const analysis::TopEntry> entries, const model::Totals& whole, bool shorten);
// The table of where threads waited longest, and for what.
std::string top_waits_text(std::span<const analysis::TopWait> waits, const model::Totals& whole, bool shorten);

}  // namespace tephra::views
