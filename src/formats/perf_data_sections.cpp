#include "formats/perf_data_sections.h"

#include "base/bytes.h"
#include "stream/perf_file.h"
#include "stream/put.h"

namespace tephra::formats {

using stream::put;
using stream::put_text;

namespace {

void put_build_id(std::string& out, uint16_t misc, int32_t pid, const model::BuildId& id, std::string_view path) {
  constexpr uint16_t kSizeIsStored = 1 << 15;
  constexpr size_t kFixedBytes = sizeof(perf_event_header) + sizeof pid + 24;
  const size_t padded = (path.size() + 1 + 63) / 64 * 64;
  perf_event_header header{};
  header.misc = misc | kSizeIsStored;
  header.size = static_cast<uint16_t>(kFixedBytes + padded);
  put(out, header);
  put(out, pid);
  std::string bytes(base::as_text(id.bytes()));
  bytes.resize(20);
  out += bytes;
  put(out, static_cast<uint32_t>(id.bytes().size()));
  out += path;
  out.append(padded - path.size(), '\0');
}

}  // namespace

FileSection put_events(std::string& out, uint64_t offset, std::span<const FileEvent> events) {
  std::vector<FileSection> id_sections;
  for (const FileEvent& event : events) {
    id_sections.push_back({offset + out.size(), event.ids.size() * sizeof(uint64_t)});
    for (const uint64_t id : event.ids) put(out, id);
  }
  const uint64_t begin = out.size();
  for (size_t i = 0; i < events.size(); ++i) {
    out.append(reinterpret_cast<const char*>(&events[i].attr), kernel::kAttrSize);
    put(out, id_sections[i]);
  }
  return {offset + begin, out.size() - begin};
}

Feature text_feature(int bit, std::string_view text) {
  Feature feature{bit, {}};
  put_text(feature.content, text);
  return feature;
}

Feature command_line_feature(std::span<const std::string> words) {
  Feature feature{stream::kFeatureCommandLine, {}};
  put(feature.content, static_cast<uint32_t>(words.size()));
  for (const std::string& word : words) put_text(feature.content, word);
  return feature;
}

Feature event_description_feature(std::span<const FileEvent> events) {
  Feature feature{stream::kFeatureEventDescription, {}};
  std::string& out = feature.content;
  put(out, static_cast<uint32_t>(events.size()));
  put(out, kernel::kAttrSize);
  for (const FileEvent& event : events) {
    out.append(reinterpret_cast<const char*>(&event.attr), kernel::kAttrSize);
    put(out, static_cast<uint32_t>(event.ids.size()));
    put_text(out, event.name);
    for (const uint64_t id : event.ids) put(out, id);
  }
  return feature;
}

Feature sample_time_feature(uint64_t first, uint64_t last) {
  Feature feature{stream::kFeatureSampleTime, {}};
  put(feature.content, first);
  put(feature.content, last);
  return feature;
}

Feature recorder_facts_feature(const stream::RecorderFacts& facts) {
  return {stream::kFeatureTephraFacts, stream::print_facts(facts)};
}

Feature build_id_feature(const model::BuildId& kernel, const BuildIds& files) {
  constexpr size_t kMaxFiles = 20'000;
  constexpr size_t kMaxPath = 4096;
  Feature feature{stream::kFeatureBuildId, {}};
  if (!kernel.empty()) {
    put_build_id(feature.content, PERF_RECORD_MISC_KERNEL, -1, kernel, "[kernel.kallsyms]");
  }
  size_t written = 0;
  for (const auto& [path, id] : files) {
    if (id.empty() || path.size() > kMaxPath) continue;
    if (++written > kMaxFiles) break;
    put_build_id(feature.content, PERF_RECORD_MISC_USER, -1, id, path);
  }
  return feature;
}

}  // namespace tephra::formats
