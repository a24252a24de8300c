#pragma once

#include <linux/perf_event.h>

#include <cstring>
#include <map>
#include <string>

#include "formats/perf_data_features.h"
#include "stream/recording_for_tests.h"

namespace tephra::formats {

inline std::string test_attribute(const stream::EventLayout& layout, uint32_t size = PERF_ATTR_SIZE_VER5) {
  perf_event_attr attr{};
  attr.type = layout.type;
  attr.size = size;
  attr.config = layout.config;
  attr.sample_type = layout.sample_type;
  attr.read_format = layout.read_format;
  attr.branch_sample_type = layout.branch_sample_type;
  attr.sample_regs_user = layout.sample_regs_user;
  attr.sample_stack_user = layout.sample_stack_user;
  attr.sample_max_stack = layout.sample_max_stack;
  attr.sample_period = layout.sample_period_or_frequency;
  attr.freq = layout.frequency;
  attr.sample_id_all = layout.sample_id_all;
  attr.inherit = layout.inherit;
  attr.exclude_callchain_user = layout.exclude_callchain_user;
  attr.use_clockid = layout.use_clockid;
  attr.clockid = layout.clockid;
  std::string bytes(reinterpret_cast<const char*>(&attr), sizeof attr);
  bytes.resize(size);
  return bytes;
}

// A text as feature sections hold it.
inline std::string test_text(std::string_view text) {
  stream::TestBytes name;
  name.name(text);
  return stream::TestBytes().put(static_cast<uint32_t>(name.text().size())).raw(name.text()).text();
}

inline std::string test_event_descriptions(const stream::TestRecording& recording, uint32_t attr_size) {
  stream::TestBytes out;
  out.put(static_cast<uint32_t>(recording.events().size())).put(attr_size);
  for (const auto& event : recording.events()) {
    out.raw(test_attribute(event.layout, attr_size)).put(static_cast<uint32_t>(event.ids.size()));
    out.raw(test_text(event.name)).words(event.ids);
  }
  return out.text();
}

inline std::string test_build_id_record(std::string_view id, std::string_view path, uint16_t misc) {
  stream::TestBytes body;
  body.put(int32_t{-1}).raw(id).raw(std::string(20 - id.size(), '\0')).put(static_cast<uint8_t>(id.size()));
  body.raw(std::string(3, '\0')).name(path);
  return stream::test_record(stream::kRecordBuildId, misc, body.text());
}

struct TestFileOptions {
  std::map<uint32_t, std::string> features{};
  uint32_t attr_size = PERF_ATTR_SIZE_VER5;
  bool without_data_size = false;  // as a killed perf leaves it
};

// A perf.data file: header, ids, attributes, data, table of features, features.
inline std::string test_file(const stream::TestRecording& recording, const TestFileOptions& options = {}) {
  using stream::TestBytes;
  constexpr uint64_t kHeaderSize = 104;
  TestBytes ids;
  TestBytes attributes;
  for (const auto& event : recording.events()) {
    attributes.raw(test_attribute(event.layout, options.attr_size));
    attributes.put(kHeaderSize + ids.text().size()).put(uint64_t{event.ids.size() * 8});
    ids.words(event.ids);
  }
  const uint64_t attributes_at = kHeaderSize + ids.text().size();
  const uint64_t data_at = attributes_at + attributes.text().size();
  std::string bits(32, '\0');
  TestBytes table;
  std::string sections;
  const uint64_t sections_at = data_at + recording.data().size() + options.features.size() * 16;
  for (const auto& [feature, content] : options.features) {
    bits[feature / 8] = static_cast<char>(bits[feature / 8] | 1 << (feature % 8));
    table.put(sections_at + sections.size()).put(uint64_t{content.size()});
    sections += content;
  }
  TestBytes file;
  file.raw("PERFILE2").put(kHeaderSize).put(uint64_t{options.attr_size + 16});
  file.put(attributes_at).put(uint64_t{attributes.text().size()});
  file.put(data_at).put(uint64_t{options.without_data_size ? 0 : recording.data().size()});
  file.put(uint64_t{0}).put(uint64_t{0}).raw(bits);
  file.raw(ids.text()).raw(attributes.text()).raw(recording.data());
  if (!options.without_data_size) file.raw(table.text()).raw(sections);
  return file.text();
}

// The same as a stream, as `perf record -o -` writes it.
inline std::string test_pipe(const stream::TestRecording& recording, const TestFileOptions& options = {}) {
  using stream::TestBytes;
  TestBytes out;
  out.raw("PERFILE2").put(uint64_t{16});
  for (const auto& event : recording.events()) {
    TestBytes body;
    body.raw(test_attribute(event.layout, options.attr_size)).words(event.ids);
    out.raw(stream::test_record(stream::kRecordHeaderAttr, 0, body.text()));
  }
  for (const auto& [feature, content] : options.features) {
    TestBytes body;
    body.put(uint64_t{feature}).raw(content);
    out.raw(stream::test_record(stream::kRecordHeaderFeature, 0, body.text()));
  }
  return out.raw(recording.data()).text();
}

}  // namespace tephra::formats
