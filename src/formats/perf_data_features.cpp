#include "formats/perf_data_features.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <unordered_map>

#include "base/number_hash.h"
#include "formats/simpleperf_sections.h"
#include "stream/embedded_names.h"
#include "stream/records.h"

namespace tephra::formats {
namespace {

using base::ByteReader;
using base::Bytes;

constexpr uint16_t kMiscBuildIdSize = 1u << 15;
constexpr uint32_t kMaxEvents = 1 << 16;

std::string read_text(ByteReader& reader) { return std::string(base::until_nul(reader.bytes(reader.u32()))); }

bool read_single_text(Bytes section, std::string& out) {
  ByteReader reader(section);
  std::string text = read_text(reader);
  if (reader.ok()) out = std::move(text);
  return reader.ok();
}

bool read_command_line(Bytes section, std::string& out) {
  ByteReader reader(section);
  const uint32_t words = reader.u32();
  std::string line;
  for (uint32_t i = 0; i < words && reader.ok(); ++i) {
    if (i > 0) line += ' ';
    line += read_text(reader);
  }
  if (reader.ok()) out = std::move(line);
  return reader.ok();
}

// Names of the events, matched by their ids, or by place where there are none.
bool read_event_descriptions(Bytes section, stream::Recording& recording) {
  ByteReader reader(section);
  const uint32_t count = reader.u32();
  const uint32_t attribute_size = reader.u32();
  if (count > kMaxEvents) return false;
  std::unordered_map<uint64_t, size_t, base::NumberHash> event_by_id;
  for (size_t at = 0; at < recording.events.size(); ++at) {
    for (const uint64_t id : recording.events[at].ids) event_by_id.emplace(id, at);
  }
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    reader.skip(attribute_size);
    const uint32_t id_count = reader.u32();
    std::string name = read_text(reader);
    if (id_count > reader.remaining() / 8) return false;
    const uint64_t first_id = id_count > 0 ? reader.u64() : 0;
    if (id_count > 1) reader.skip((id_count - 1) * size_t{8});
    if (!reader.ok() || name.empty()) continue;
    size_t event = i;
    if (id_count > 0 && !event_by_id.empty()) {
      const auto found = event_by_id.find(first_id);
      event = found == event_by_id.end() ? recording.events.size() : found->second;
    }
    if (event < recording.events.size()) recording.events[event].name = std::move(name);
  }
  return reader.ok();
}

// Names are an addition: a recording with damaged ones is read as one without.
bool read_names(Bytes section, stream::Recording& recording) {
  if (section.empty()) return true;
  auto parsed = stream::parse_section(section);
  if (!parsed) return false;
  recording.facts.names = std::make_shared<const model::EmbeddedNames>(std::move(parsed->names));
  if (!parsed->walks.empty()) recording.walks = std::make_shared<const stream::RecordedWalks>(std::move(parsed->walks));
  return true;
}

bool read_build_ids(Bytes section, stream::Recording& recording) {
  stream::RecordWalker walker(section);
  stream::Record record;
  bool ok = true;
  while (walker.next(record)) ok = read_build_id(record.bytes, record.misc, recording) && ok;
  return ok && !walker.damaged();
}

}  // namespace

bool read_build_id(Bytes record, uint16_t misc, stream::Recording& recording) {
  ByteReader reader(record);
  reader.skip(stream::kRecordHeaderSize + 4);
  Bytes id = reader.bytes(24);
  if (!reader.ok()) return false;
  size_t size = 20;
  if (misc & kMiscBuildIdSize) size = std::min<size_t>(static_cast<uint8_t>(id[20]), 20);
  stream::FileBuildId entry;
  entry.build_id = model::BuildId(id.first(size));
  entry.path = std::string(base::until_nul(reader.bytes(reader.remaining())));
  entry.kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
  recording.build_ids.push_back(std::move(entry));
  return true;
}

stream::EventLayout read_attribute(Bytes bytes) {
  perf_event_attr attribute{};
  std::memcpy(&attribute, bytes.data(), std::min(bytes.size(), sizeof attribute));
  stream::EventLayout layout;
  layout.type = attribute.type;
  layout.config = attribute.config;
  layout.sample_type = attribute.sample_type;
  layout.read_format = attribute.read_format;
  layout.branch_sample_type = attribute.branch_sample_type;
  layout.sample_regs_user = attribute.sample_regs_user;
  layout.sample_regs_intr = attribute.sample_regs_intr;
  layout.sample_stack_user = attribute.sample_stack_user;
  layout.sample_max_stack = attribute.sample_max_stack;
  layout.sample_period_or_frequency = attribute.sample_period;
  layout.frequency = attribute.freq;
  layout.sample_id_all = attribute.sample_id_all;
  layout.exclude_kernel = attribute.exclude_kernel;
  layout.exclude_user = attribute.exclude_user;
  layout.inherit = attribute.inherit;
  layout.exclude_callchain_user = attribute.exclude_callchain_user;
  layout.exclude_callchain_kernel = attribute.exclude_callchain_kernel;
  layout.build_ids = attribute.build_id;
  layout.use_clockid = attribute.use_clockid;
  layout.clockid = attribute.clockid;
  return layout;
}

bool read_feature(uint32_t feature, Bytes section, stream::Recording& recording) {
  switch (feature) {
    case stream::kFeatureTracingData:
      recording.tracing_data = section;
      return true;
    case stream::kFeatureBuildId:
      return read_build_ids(section, recording);
    case stream::kFeatureHostname:
      return read_single_text(section, recording.facts.host);
    case stream::kFeatureOsRelease:
      return read_single_text(section, recording.facts.os_release);
    case stream::kFeatureArch:
      return read_single_text(section, recording.facts.arch);
    case stream::kFeatureCommandLine:
      return read_command_line(section, recording.facts.command_line);
    case stream::kFeatureEventDescription:
      return read_event_descriptions(section, recording);
    case stream::kFeatureSimpleperfFiles:
      return read_simpleperf_files(section, recording);
    case stream::kFeatureSimpleperfFileMessages:
      return read_simpleperf_file_messages(section, recording);
    case stream::kFeatureSimpleperfMeta:
      return read_simpleperf_meta(section, recording);
    case stream::kFeatureTephraFacts:
      recording.recorder = stream::parse_facts(base::as_text(section));
      return true;
    case stream::kFeatureTephraNames:
      return read_names(section, recording);
    case stream::kFeatureTephraJit:
      recording.jit = std::make_shared<const stream::JitLog>(stream::read_jit_log(section));
      return !recording.jit->damaged;
    default:
      return true;
  }
}

}  // namespace tephra::formats
