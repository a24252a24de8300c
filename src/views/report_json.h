#pragma once

#include <string>

#include "analysis/report.h"
#include "analysis/verdict.h"
#include "model/profile.h"

namespace tephra::views {

// The report as one JSON object, with exact counts and values and whole names.
std::string report_json(const analysis::Report& report, const model::RecordingFacts& facts,
                        const analysis::Verdict& verdict);

}  // namespace tephra::views
