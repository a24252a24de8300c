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

// Ours; written at the start with what is known and replaced at the end.
Feature recorder_facts_feature(const stream::RecorderFacts& facts);

Feature sample_time_feature(uint64_t first, uint64_t last);

// Code objects by the path records give them. A path that two files had keeps its last identity.
using BuildIds = std::map<std::string, model::BuildId, std::less<>>;
// `kernel` may be empty. At most as many entries as keep the section small; records carry the ids themselves.
Feature build_id_feature(const model::BuildId& kernel, const BuildIds& files);

// What a reader needs to decode tracepoints: the formats of `events`, in the layout of trace-cmd and perf.
base::Result<Feature> tracing_data_feature(std::span<const kernel::EventSpec> events);

}  // namespace tephra::collect
