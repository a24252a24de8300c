#include "stream/io_reading.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>

#include "stream/activity_samples.h"
#include "stream/tracepoint_fields.h"

namespace tephra::stream {
namespace {

constexpr std::string_view kIssue = "block:block_rq_issue";

constexpr bool is_request(uint32_t kind) { return kind >= TEPHRA_BLOCK_READ && kind <= TEPHRA_BLOCK_OTHER; }
constexpr bool is_call(uint32_t kind) { return kind >= TEPHRA_FILE_READ && kind <= TEPHRA_FILE_OTHER; }

// What a sample carries; nothing where it is not of this kind. Fields that an older recorder did not write are 0.
std::optional<tephra_activity_record> io_record(base::Bytes raw) {
  const auto record = activity_record(raw, TEPHRA_BLOCK_READ, TEPHRA_FILE_OTHER);
  return record && (is_request(record->kind) || is_call(record->kind)) ? record : std::nullopt;
}

std::string_view operation_of(uint32_t kind) {
  switch (kind) {
    case TEPHRA_BLOCK_READ:
    case TEPHRA_FILE_READ:
      return "read";
    case TEPHRA_BLOCK_WRITE:
    case TEPHRA_FILE_WRITE:
      return "write";
    case TEPHRA_BLOCK_FLUSH:
      return "flush";
    case TEPHRA_BLOCK_DISCARD:
      return "discard";
    case TEPHRA_FILE_SYNC:
      return "sync";
    default:
      return "other";
  }
}

std::string numbers_of(uint32_t device) { return fmt::format("{}:{}", device >> 20, device & 0xfffff); }

// A label for each single time would keep apart what belongs together.
uint64_t three_digits(uint64_t number) {
  uint64_t unit = 1;
  while (number / unit >= 1000) unit *= 10;
  const uint64_t rounded = number / unit + (number % unit >= (unit + 1) / 2 && unit > 1 ? 1 : 0);
  uint64_t result = 0;
  return __builtin_mul_overflow(rounded, unit, &result) ? number : result;
}

// What decides about labels.
struct LabelKey {
  uint32_t kind = 0;
  uint32_t device = 0;
  uint32_t flags = 0;
  uint64_t longest = 0;
  std::array<char, sizeof tephra_activity_record::extra> name{};
  auto operator<=>(const LabelKey&) const = default;
};

LabelKey key_of(const tephra_activity_record& record) {
  constexpr uint32_t kTold = TEPHRA_ACTIVITY_FAILED | TEPHRA_ACTIVITY_OPEN;
  LabelKey key{record.kind, record.detail, record.flags & kTold, three_digits(record.longest_ns), {}};
  // Behind the NUL may be anything.
  const auto* const text = reinterpret_cast<const char*>(record.extra);
  std::memcpy(key.name.data(), text, ::strnlen(text, key.name.size()));
  return key;
}

SampleReading::Labels labels_of(const LabelKey& key) {
  SampleReading::Labels labels;
  const auto text = [&](std::string_view label, std::string_view value) {
    labels.push_back({std::string(label), std::string(value), 0, ""});
  };
  const std::string_view name(key.name.data(), ::strnlen(key.name.data(), key.name.size()));
  text(kOperationLabel, operation_of(key.kind));
  if (!name.empty()) {
    text(kDeviceLabel, name);
  } else if (key.device != 0) {
    text(kDeviceLabel, numbers_of(key.device));
  }
  if (key.flags & TEPHRA_ACTIVITY_FAILED) text(kErrorLabel, kErrorFailed);
  if (key.flags & TEPHRA_ACTIVITY_OPEN) text(kIoOpenLabel, kIoOpenEnd);
  if (key.longest != 0) labels.push_back({std::string(kLongestLabel), "", static_cast<int64_t>(key.longest), "ns"});
  return labels;
}

// Labels by what they follow from, numbered as they are met.
class LabelTable {
 public:
  void note(const LabelKey& key) {
    if (numbers_.try_emplace(key, static_cast<uint32_t>(sets_.size())).second) sets_.push_back(labels_of(key));
  }
  // 0, which stands for none, where it was not noted.
  uint32_t number(const LabelKey& key) const {
    const auto found = numbers_.find(key);
    return found == numbers_.end() ? 0 : found->second;
  }
  std::span<const SampleReading::Labels> sets() const { return sets_; }

 private:
  std::map<LabelKey, uint32_t> numbers_;
  std::vector<SampleReading::Labels> sets_{1};
};

class IoReading : public SampleReading {
 public:
  // The events that samples of `io` are shown as.
  struct Shown {
    uint32_t block_time = 0;
    uint32_t block_bytes = 0;
    uint32_t file_time = 0;
    uint32_t file_bytes = 0;
  };
  IoReading(uint32_t io, Shown shown) : io_(io), shown_(shown) {}

  // Makes the labels of a sample known. Returns whether it could be read.
  bool note(const Sample& sample) {
    const auto record = io_record(sample.raw);
    if (record) labels_.note(key_of(*record));
    return record.has_value();
  }

  bool reads(uint32_t event) const override { return event == io_; }

  void read(const Sample& sample, uint64_t, std::vector<Part>& parts) const override {
    const auto record = io_record(sample.raw);
    if (!record) return;
    const bool request = is_request(record->kind);
    const uint32_t labels = labels_.number(key_of(*record));
    const uint64_t count = std::max<uint64_t>(record->count, 1);
    parts.push_back({request ? shown_.block_time : shown_.file_time, record->ns, count, labels});
    parts.push_back({request ? shown_.block_bytes : shown_.file_bytes, record->bytes, count, labels});
  }

  std::span<const Labels> label_sets() const override { return labels_.sets(); }

 private:
  uint32_t io_;
  Shown shown_;
  LabelTable labels_;
};

// Where a request's size, device and operation are in the samples of a tracepoint.
struct IssueFields {
  TracepointField bytes;
  TracepointField device;
  TracepointField operation;

  static std::optional<IssueFields> find(const Recording& recording, uint32_t event) {
    const TracepointFields fields(recording.tracing_data);
    const uint64_t id = recording.events[event].layout.config;
    const auto bytes = fields.number(id, "bytes");
    const auto device = fields.number(id, "dev");
    const auto operation = fields.first_letter(id, "rwbs");
    if (!bytes || !device || !operation) return {};
    return IssueFields{*bytes, *device, *operation};
  }
};

// As the kernel writes them: an F for a flush beforehand, then the operation.
uint32_t kind_of_letters(char first, char second) {
  switch (first == 'F' ? second : first) {
    case 'R':
      return TEPHRA_BLOCK_READ;
    case 'W':
      return TEPHRA_BLOCK_WRITE;
    case 'D':
      return TEPHRA_BLOCK_DISCARD;
    case 'F':
      return TEPHRA_BLOCK_FLUSH;
    default:
      return TEPHRA_BLOCK_OTHER;
  }
}

// Requests as the tracepoint tells them, one by one.
class IssueReading : public SampleReading {
 public:
  IssueReading(uint32_t issues, uint32_t shown, IssueFields fields) : issues_(issues), shown_(shown), fields_(fields) {}

  void note(const Sample& sample) {
    if (const auto key = key_of_sample(sample)) labels_.note(*key);
  }

  bool reads(uint32_t event) const override { return event == issues_; }

  // It is still what it was, and a number of bytes beside it.
  void read(const Sample& sample, uint64_t, std::vector<Part>& parts) const override {
    parts.push_back({.event = issues_, .value = sample.period, .count = sample.count});
    const auto key = key_of_sample(sample);
    const auto bytes = fields_.bytes.bits(sample.raw);
    if (key && bytes) parts.push_back({shown_, *bytes, sample.count, labels_.number(*key)});
  }

  std::span<const Labels> label_sets() const override { return labels_.sets(); }

 private:
  std::optional<LabelKey> key_of_sample(const Sample& sample) const {
    const auto device = fields_.device.bits(sample.raw);
    TracepointField next = fields_.operation;
    ++next.offset;
    const auto first = fields_.operation.bits(sample.raw);
    const auto second = next.bits(sample.raw);
    if (!device || !first || !second) return {};
    return LabelKey{.kind = kind_of_letters(static_cast<char>(*first), static_cast<char>(*second)),
                    .device = static_cast<uint32_t>(*device)};
  }

  uint32_t issues_;
  uint32_t shown_;
  IssueFields fields_;
  LabelTable labels_;
};

template <class Visit>
void for_each_sample_of(const Recording& recording, const ReadingOptions& options, uint32_t event, const Visit& visit) {
  const Decoder decoder(recording);
  Sample sample;
  for_each_record(recording, options.done_with, [&](const Record& record, uint64_t) {
    if (record.type != PERF_RECORD_SAMPLE || !decoder.decode_sample(record, sample)) return;
    if (sample.origin.event == event) visit(sample);
  });
}

std::optional<uint32_t> find_event(const Recording& recording, std::string_view name) {
  const auto found = std::ranges::find(recording.events, name, &RecordedEvent::name);
  if (found == recording.events.end() || !(found->layout.sample_type & PERF_SAMPLE_RAW)) return {};
  return static_cast<uint32_t>(found - recording.events.begin());
}

void add_measured(Recording& recording, const ReadingOptions& options, uint32_t io) {
  IoReading::Shown shown;
  shown.block_time = add_shown_event(recording, io, kBlockTimeEvent, "ns", kRequestsCounted);
  shown.block_bytes = add_shown_event(recording, io, kBlockBytesEvent, "bytes", kRequestsCounted);
  shown.file_time = add_shown_event(recording, io, kFileTimeEvent, "ns", kCallsCounted);
  shown.file_bytes = add_shown_event(recording, io, kFileBytesEvent, "bytes", kCallsCounted);
  auto reading = std::make_shared<IoReading>(io, shown);
  uint64_t unread = 0;
  for_each_sample_of(recording, options, io, [&](const Sample& sample) { unread += !reading->note(sample); });
  if (unread > 0) {
    model::add_reading_note(
        kIoEvent, fmt::format("{} without what the recorder tells, left out", base::counted(unread, "sample")),
        recording.facts);
  }
  recording.readings.push_back(std::move(reading));
}

void add_issues(Recording& recording, const ReadingOptions& options, uint32_t issues) {
  const auto fields = IssueFields::find(recording, issues);
  if (!fields) return;
  const uint32_t shown = add_shown_event(recording, issues, kBlockBytesEvent, "bytes", kRequestsCounted);
  auto reading = std::make_shared<IssueReading>(issues, shown, *fields);
  for_each_sample_of(recording, options, issues, [&](const Sample& sample) { reading->note(sample); });
  recording.readings.push_back(std::move(reading));
}

}  // namespace

base::Status add_io_reading(Recording& recording, const ReadingOptions& options) {
  if (const auto io = find_event(recording, kIoEvent); io && recording.recorder) {
    add_measured(recording, options, *io);
  } else if (const auto issues = find_event(recording, kIssue)) {
    add_issues(recording, options, *issues);
  }
  return {};
}

}  // namespace tephra::stream
