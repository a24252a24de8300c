#pragma once

#include "analysis/verdict.h"
#include "base/json_writer.h"

namespace tephra::views {

// Writes the verdict as one JSON object; its keys are part of every JSON output.
void write_verdict(base::JsonWriter& json, const analysis::Verdict& verdict);

}  // namespace tephra::views
