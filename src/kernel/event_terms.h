#pragma once

#include <vector>

#include "base/result.h"
#include "kernel/event_spec.h"
#include "kernel/event_syntax.h"
#include "kernel/pmus.h"

namespace tephra::kernel {

// The terms that any event takes: period, freq, name, config, config1, config2.
base::Status apply_terms(EventSpec& event, const std::vector<EventTerm>& terms);

// The same, the terms that the PMU describes, its named events and raw codes (rNNN). As in perf, bits add up.
base::Status apply_pmu_terms(EventSpec& event, const std::vector<EventTerm>& terms, const Pmu& pmu, const Pmus& pmus);

// "rNNN" with one to sixteen hexadecimal digits.
std::optional<uint64_t> raw_code(std::string_view text);

}  // namespace tephra::kernel
