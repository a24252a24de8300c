#pragma once

#include <vector>

#include "model/profile.h"
#include "symbols/answers.h"
#include "symbols/symbolize.h"

namespace tephra::symbols {

// Looks up `frames`, all of the mapping `mapping` (a file or the vDSO).
Answers answer_file(const model::Profile& profile, model::MappingId mapping, const std::vector<model::FrameId>& frames,
                    const Options& options);

}  // namespace tephra::symbols
