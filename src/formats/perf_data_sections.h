#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/perf_event.h"
#include "model/build_id.h"
#include "stream/recorder_facts.h"

namespace tephra::formats {

// The parts of a perf.data file around its records, for those who write one: collect/ while it records, and the writer
// of profiles.

// A part of the file.
struct FileSection {
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct FileHeader {
  char magic[8] = {'P', 'E', 'R', 'F', 'I', 'L', 'E', '2'};
  uint64_t size = sizeof(FileHeader);
  uint64_t attr_size = kernel::kAttrSize + sizeof(FileSection);
  FileSection attrs;
  FileSection data;
  FileSection event_types;
  uint64_t features[4] = {};
};
static_assert(sizeof(FileHeader) == 104);

// One event of a recording as the file describes it.
struct FileEvent {
  perf_event_attr attr{};
  std::string name;
  std::vector<uint64_t> ids;
  int group = -1;  // events of one group follow each other, the first leads; -1: in none
};

// A feature section: its bit in perf's header and its content.
struct Feature {
  int bit = 0;
  std::string content;
};

// Appends ids and attributes to `out`, which will stand at `offset` of the file. Where the attributes are.
FileSection put_events(std::string& out, uint64_t offset, std::span<const FileEvent> events);

Feature text_feature(int bit, std::string_view text);
Feature command_line_feature(std::span<const std::string> words);
Feature event_description_feature(std::span<const FileEvent> events);
Feature sample_time_feature(uint64_t first, uint64_t last);
Feature recorder_facts_feature(const stream::RecorderFacts& facts);

// Code objects by the path records give them. A path that two files had keeps its last identity.
using BuildIds = std::map<std::string, model::BuildId, std::less<>>;
// `kernel` may be empty. At most as many entries as keep the section small; records carry the ids themselves.
Feature build_id_feature(const model::BuildId& kernel, const BuildIds& files);

}  // namespace tephra::formats
