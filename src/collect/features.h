#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collect/record_writer.h"
#include "kernel/event_names.h"
#include "model/build_id.h"
#include "stream/recorder_facts.h"

namespace tephra::collect {

// What is known about the machine and the recording before it starts, also which events are groups.
std::vector<Feature> start_features(std::span<const FileEvent> events, std::span<const std::string> command_line,
                                    bool monotonic_clock);

using formats::build_id_feature;
using formats::BuildIds;
// Ours; written at the start with what is known and replaced at the end.
using formats::recorder_facts_feature;
using formats::sample_time_feature;

// What a reader needs to decode tracepoints: the formats of `events`, in the layout of trace-cmd and perf.
base::Result<Feature> tracing_data_feature(std::span<const kernel::EventSpec> events);

}  // namespace tephra::collect
