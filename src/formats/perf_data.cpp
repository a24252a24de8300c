#include "formats/perf_data.h"

#include <linux/perf_event.h>

#include <bit>
#include <ctime>
#include <optional>
#include <unordered_map>

#include "base/zstd_stream.h"
#include "formats/byte_order.h"
#include "formats/perf_data_features.h"
#include "formats/perf_data_writer.h"
#include "stream/converted_facts.h"
#include "stream/event_name.h"
#include "stream/records.h"

namespace tephra::formats {
namespace {

using base::ByteReader;
using base::Bytes;
using model::Reason;
using stream::Recording;

constexpr std::string_view kMagic = "PERFILE2";
constexpr std::string_view kSwappedMagic = "2ELIFREP";
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";
constexpr size_t kPipeHeaderSize = 16;
constexpr size_t kFileHeaderSize = 104;
constexpr size_t kSmallestAttribute = 64;  // PERF_ATTR_SIZE_VER0

struct Section {
  uint64_t offset = 0;
  uint64_t size = 0;
};

Section read_section(ByteReader& reader) {
  const uint64_t offset = reader.u64();
  return {offset, reader.u64()};
}

// The part of the file a section names, cut where the file ends. `whole` tells whether it was all there.
Bytes slice(Bytes file, const Section& section, bool& whole) {
  whole = section.offset <= file.size() && section.size <= file.size() - section.offset;
  if (section.offset >= file.size()) return {};
  return file.subspan(section.offset, std::min<uint64_t>(section.size, file.size() - section.offset));
}

std::string refusal(Bytes bytes) {
  const auto text = base::as_text(bytes);
  return text.starts_with(kMagic) || text.starts_with(kSwappedMagic) ? "" : "it does not begin with PERFILE2";
}

// Reads the ids of an event, from whole words.
std::vector<uint64_t> read_ids(Bytes bytes) {
  std::vector<uint64_t> ids;
  ByteReader reader(bytes);
  while (reader.remaining() >= 8) ids.push_back(reader.u64());
  return ids;
}

void add_event(Recording& recording, Bytes attribute, Bytes ids) {
  stream::RecordedEvent event;
  event.layout = read_attribute(attribute);
  event.name = stream::name_of(event.layout);
  event.ids = read_ids(ids);
  recording.events.push_back(std::move(event));
}

base::Status read_attributes(Bytes file, const Section& section, uint64_t entry_size, Recording& recording) {
  bool whole = true;
  const Bytes entries = slice(file, section, whole);
  if (!whole || entry_size < kSmallestAttribute + 16 || entries.size() / entry_size == 0) {
    return base::failed("cannot read", "", "the perf.data header is truncated or damaged");
  }
  // Lists of ids do not overlap, so together they are no larger than the file; a damaged file may say otherwise.
  size_t room_for_ids = file.size();
  for (size_t at = 0; at + entry_size <= entries.size(); at += entry_size) {
    const Bytes entry = entries.subspan(at, entry_size);
    ByteReader reader(entry.last(16));
    Bytes ids = slice(file, read_section(reader), whole);
    if (!whole) ++recording.quality[Reason::file_truncated];
    if (ids.size() > room_for_ids) {
      ids = {};
      ++recording.quality[Reason::malformed_records];
    }
    room_for_ids -= ids.size();
    add_event(recording, entry.first(entry_size - 16), ids);
  }
  return {};
}

bool has_feature(Bytes bits, uint32_t feature) { return static_cast<unsigned>(bits[feature / 8]) >> (feature % 8) & 1; }

// The table of feature sections lies behind the data; each set bit has one entry, in order.
void read_features(Bytes file, const Section& data, Bytes bits, Recording& recording) {
  bool whole = true;
  slice(file, data, whole);
  if (!whole) return;
  ByteReader table(file.subspan(data.offset + data.size));
  for (uint32_t feature = 0; feature < stream::kFeatureBits; ++feature) {
    if (!has_feature(bits, feature)) continue;
    const Section section = read_section(table);
    if (!table.ok()) {
      ++recording.quality[Reason::file_truncated];
      return;
    }
    const Bytes bytes = slice(file, section, whole);
    if (feature != 0 && (!whole || !read_feature(feature, bytes, recording))) {
      ++recording.quality[Reason::malformed_records];
    }
  }
}

// The name of an event that was described before, by its first id. Updates of its unit or scale change nothing.
bool read_event_update(ByteReader& reader, Recording& recording) {
  constexpr uint64_t kName = 2;
  const uint64_t kind = reader.u64();
  const uint64_t id = reader.u64();
  if (!reader.ok()) return false;
  const auto name = base::until_nul(reader.bytes(reader.remaining()));
  if (kind != kName || name.empty()) return true;
  for (stream::RecordedEvent& event : recording.events) {
    if (!event.ids.empty() && event.ids[0] == id) event.name = name;
  }
  return true;
}

// Reads what pipe-mode streams, and some files, tell in records instead of in the header. False: it is broken.
bool read_header_record(const stream::Record& record, Bytes payload, Recording& recording) {
  ByteReader reader(record.body());
  switch (record.type) {
    case stream::kRecordHeaderAttr: {
      const uint32_t size = record.body().size() >= 8 ? base::load<uint32_t>(record.body().data() + 4) : 0;
      const Bytes attribute = reader.bytes(std::max<size_t>(size, kSmallestAttribute));
      if (reader.ok()) add_event(recording, attribute, reader.bytes(reader.remaining()));
      return reader.ok();
    }
    case stream::kRecordHeaderFeature: {
      const uint64_t feature = reader.u64();
      if (!reader.ok()) return false;
      if (feature >= stream::kFeatureBits) return true;
      return read_feature(static_cast<uint32_t>(feature), reader.bytes(reader.remaining()), recording);
    }
    case stream::kRecordEventUpdate:
      return read_event_update(reader, recording);
    case stream::kRecordBuildId:
      return read_build_id(record.bytes, record.misc, recording);
    case stream::kRecordTracingData:
      if (!payload.empty()) {
        recording.tracing_data = payload;
      } else {
        recording.tracing_data = reader.bytes(reader.u32());  // simpleperf has it inside the record
      }
      return reader.ok();
    default:
      return true;
  }
}

struct StreamContent {
  bool compressed = false;
};

StreamContent read_header_records(Bytes part, bool pipe, Recording& recording) {
  StreamContent content;
  stream::RecordWalker walker(part);
  stream::Record record;
  while (walker.next(record)) {
    const bool compressed = record.type == stream::kRecordCompressed || record.type == stream::kRecordCompressed2;
    content.compressed = content.compressed || compressed;
    // Files have sections for these; killed writers and simpleperf leave records all the same.
    if (!pipe && record.type != stream::kRecordBuildId && record.type != stream::kRecordTracingData) continue;
    const size_t end = static_cast<size_t>(record.bytes.data() - part.data()) + record.bytes.size();
    const Bytes payload = part.subspan(end, walker.position() - end);
    if (!read_header_record(record, payload, recording)) ++recording.quality[Reason::malformed_records];
  }
  return content;
}

// Unpacks COMPRESSED records: one zstd stream over many of them, whose content is records again. A record may begin in
// one compressed record and end in the next, so only whole ones are passed on.
class Unpacker {
 public:
  explicit Unpacker(size_t packed_size) : limit_(packed_size * size_t{256} + (size_t{64} << 20)) {}

  // Stops for good where the stream is damaged; what came before stays.
  void unpack(Bytes part) {
    stream::RecordWalker walker(part);
    stream::Record record;
    while (!damaged_ && walker.next(record)) {
      if (record.type == stream::kRecordCompressed) {
        add(record.body());
      } else if (record.type == stream::kRecordCompressed2) {
        ByteReader reader(record.body());
        const uint64_t size = reader.u64();
        add(reader.bytes(std::min<uint64_t>(size, reader.remaining())));
      } else if (record.type != stream::kRecordAuxtrace && record.type != stream::kRecordTracingData) {
        text_.append(base::as_text(record.bytes));
      }
    }
    damaged_ = damaged_ || walker.damaged();
  }

  std::string take() { return std::move(text_); }
  bool damaged() const { return damaged_ || !pending_.empty(); }

 private:
  void add(Bytes packed) {
    // Each thread of `perf record --threads` has its own stream; streams are never ended, only flushed.
    if (base::as_text(packed).starts_with(kZstdMagic)) {
      damaged_ = damaged_ || !pending_.empty();
      pending_.clear();
      zstd_.emplace();
    }
    if (!zstd_->decompress(packed, pending_, limit_ - std::min(limit_, text_.size()))) damaged_ = true;
    stream::RecordWalker walker(base::as_bytes(pending_));
    stream::Record record;
    while (walker.next(record)) continue;
    text_.append(pending_, 0, walker.position());
    pending_.erase(0, walker.position());
  }

  std::optional<base::ZstdDecompressor> zstd_{std::in_place};
  size_t limit_;
  std::string text_;
  std::string pending_;
  bool damaged_ = false;
};

void unpack(Recording& recording) {
  size_t size = 0;
  for (const Bytes part : recording.records) size += part.size();
  Unpacker unpacker(size);
  for (const Bytes part : recording.records) unpacker.unpack(part);
  if (unpacker.damaged()) ++recording.quality[Reason::file_truncated];
  recording.unpacked = std::make_shared<const std::string>(unpacker.take());
  recording.records = {base::as_bytes(*recording.unpacked)};
}

std::string clock_name(const Recording& recording) {
  if (recording.events.empty()) return "";
  const auto& layout = recording.events.front().layout;
  if (!layout.use_clockid) return "sched_clock";
  switch (layout.clockid) {
    case CLOCK_MONOTONIC:
      return "CLOCK_MONOTONIC";
    case CLOCK_MONOTONIC_RAW:
      return "CLOCK_MONOTONIC_RAW";
    case CLOCK_REALTIME:
      return "CLOCK_REALTIME";
    case CLOCK_BOOTTIME:
      return "CLOCK_BOOTTIME";
    default:
      return "clock " + std::to_string(layout.clockid);
  }
}

// The same event asked for twice is two events, and is called so.
void tell_apart(std::vector<stream::RecordedEvent>& events) {
  std::unordered_map<std::string, int> seen;
  for (stream::RecordedEvent& event : events) {
    if (const int count = ++seen[event.name]; count > 1) event.name += "#" + std::to_string(count);
  }
}

base::Result<Recording> finish(Recording recording, const StreamContent& content) {
  if (recording.events.empty()) return base::failed("cannot read", "", "the perf.data file describes no event");
  if (content.compressed) unpack(recording);
  tell_apart(recording.events);
  if (recording.recorder && stream::is_converted(*recording.recorder)) {
    recording.converted = true;
    stream::describe_events(*recording.recorder, recording.events);
  }
  recording.facts.format = "perf.data";
  recording.facts.clock = clock_name(recording);
  return recording;
}

base::Result<Recording> open_pipe(Bytes file) {
  Recording recording;
  recording.records = {file.subspan(kPipeHeaderSize)};
  const StreamContent content = read_header_records(recording.records[0], true, recording);
  return finish(std::move(recording), content);
}

base::Result<Recording> open_file(Bytes file) {
  if (file.size() < kFileHeaderSize) {
    return base::failed("cannot read", "", "the perf.data header is truncated");
  }
  Recording recording;
  ByteReader header(file);
  header.skip(16);
  const uint64_t entry_size = header.u64();
  const Section attributes = read_section(header);
  Section data = read_section(header);
  header.skip(16);  // event types, of old versions
  const Bytes feature_bits = header.bytes(stream::kFeatureBits / 8);
  TEPHRA_CHECK_OK(read_attributes(file, attributes, entry_size, recording));
  // A writer that was killed may have left no size; then the data goes on to the end of the file.
  if (data.size == 0 && data.offset < file.size()) {
    data.size = file.size() - data.offset;
    ++recording.quality[Reason::file_truncated];
  } else {
    read_features(file, data, feature_bits, recording);
  }
  bool whole = true;
  recording.records = {slice(file, data, whole)};
  if (!whole) ++recording.quality[Reason::file_truncated];
  // perf marks files with compressed records; one without any mark may be of a writer that was killed.
  const bool marked =
      std::any_of(feature_bits.begin(), feature_bits.end(), [](std::byte b) { return b != std::byte{}; });
  StreamContent content;
  const bool of_simpleperf = recording.interpreted_code;
  if (!marked || of_simpleperf || has_feature(feature_bits, stream::kFeatureCompressed)) {
    content = read_header_records(recording.records[0], false, recording);
  }
  return finish(std::move(recording), content);
}

base::Result<Recording> open_in_host_order(Bytes file) {
  if (file.size() < kPipeHeaderSize) return base::failed("cannot read", "", "the perf.data header is truncated");
  const auto header_size = base::load<uint64_t>(file.data() + 8);
  return header_size == kPipeHeaderSize ? open_pipe(file) : open_file(file);
}

base::Result<Recording> open(Bytes file) {
  if (!base::as_text(file).starts_with(kSwappedMagic)) return open_in_host_order(file);
  TEPHRA_TRY(std::string swapped, in_host_order(file));
  const auto owned = std::make_shared<const std::string>(std::move(swapped));
  TEPHRA_TRY(Recording recording, open_in_host_order(base::as_bytes(*owned)));
  recording.unpacked = owned;
  return recording;
}

}  // namespace

const Format kPerfData{
    .name = "perf.data",
    .summary = "recordings of tephra record and perf record",
    .endings = ".data",
    .refusal = refusal,
    .open = open,
    .write = write_perf_data,
    .single_samples = true,
};

}  // namespace tephra::formats
