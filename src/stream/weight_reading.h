#pragma once

#include "base/result.h"
#include "stream/sample_reading.h"

namespace tephra::stream {

// Where `options.weight` names a field of tracepoints: samples weigh its value, times the events that a sample stands
// for. Samples of events without the field are left out, and told.
base::Status add_weight_reading(Recording& recording, const ReadingOptions& options);

// What a field of that name measures: "bytes", "ns" or "count".
std::string_view unit_of_field(std::string_view name);

}  // namespace tephra::stream
