#include "stream/weight_reading.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/units.h"
#include "model/reading_notes.h"
#include "stream/decoder.h"
#include "stream/record_pass.h"
#include "stream/recording.h"
#include "stream/tracepoint_fields.h"

namespace tephra::stream {
namespace {

using Fields = std::vector<std::optional<TracepointField>>;  // by event

uint64_t product(uint64_t a, uint64_t b) {
  uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? UINT64_MAX : result;
}

// Every event is its own: what has no field stands for nothing.
class WeightReading : public SampleReading {
 public:
  explicit WeightReading(Fields fields) : fields_(std::move(fields)) {}

  bool reads(uint32_t event) const override { return event < fields_.size(); }

  void read(const Sample& sample, uint64_t, std::vector<Part>& parts) const override {
    const auto& field = fields_[sample.origin.event];
    if (!field) return;
    const std::optional<uint64_t> bits = field->bits(sample.raw);
    if (!bits) return;
    const uint64_t weight = field->is_negative(*bits) ? 0 : *bits;
    parts.push_back({.event = sample.origin.event, .value = product(weight, sample.period), .count = sample.count});
  }

  std::span<const Labels> label_sets() const override { return kNoLabels; }

 private:
  static inline const std::array<Labels, 1> kNoLabels{};
  Fields fields_;
};

// What the samples of a recording do not tell.
struct Untold {
  uint64_t without_field = 0;
  uint64_t too_short = 0;
  uint64_t negative = 0;

  void count(const Sample& sample, const Fields& fields) {
    const auto& field = fields[sample.origin.event];
    const std::optional<uint64_t> bits = field ? field->bits(sample.raw) : std::nullopt;
    without_field += !field;
    too_short += field && !bits;
    negative += bits && field->is_negative(*bits);
  }
};

Untold untold(const Recording& recording, const Fields& fields, const ReadingOptions& options) {
  Untold counts;
  const Decoder decoder(recording);
  Sample sample;
  for_each_record(recording, options.done_with, [&](const Record& record, uint64_t) {
    if (record.type == PERF_RECORD_SAMPLE && decoder.decode_sample(record, sample)) counts.count(sample, fields);
  });
  return counts;
}

void tell(const Untold& counts, const std::string& field, model::RecordingFacts& facts) {
  const auto add = [&](uint64_t count, const char* what) {
    if (count == 0) return;
    model::add_reading_note("", fmt::format(fmt::runtime(what), base::counted(count, "sample"), field), facts);
  };
  add(counts.without_field, "{} of events without the field {} left out");
  add(counts.too_short, "{} too short for the field {} left out");
  add(counts.negative, "{} with a negative {} weigh nothing");
}

base::Error no_such_field(const Recording& recording, const TracepointFields& formats, const std::string& field) {
  std::set<std::string> names;
  bool tracepoints = false;
  for (const RecordedEvent& event : recording.events) {
    if (event.layout.type != PERF_TYPE_TRACEPOINT) continue;
    tracepoints = true;
    for (std::string& name : formats.numbers(event.layout.config)) names.insert(std::move(name));
  }
  if (!tracepoints) {
    return base::failed("cannot weigh samples of", "", "no event of the recording is a tracepoint, which have fields",
                        "Leave out --weight.");
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return base::failed("cannot weigh samples of", "", fmt::format("no event has a number called '{}'", field),
                      list.empty() ? "The recording does not describe its tracepoints." : "There are: " + list + ".");
}

}  // namespace

std::string_view unit_of_field(std::string_view name) {
  if (name.ends_with("_ns") || name == "delay" || name == "runtime") return "ns";  // of sched:sched_stat_…
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('_', begin), name.size());
    const std::string_view word = name.substr(begin, end - begin);
    for (const std::string_view known : {"bytes", "byte", "nbytes", "len", "length", "size"}) {
      if (word == known) return "bytes";
    }
    begin = end + 1;
  }
  return "count";
}

base::Status add_weight_reading(Recording& recording, const ReadingOptions& options) {
  if (options.weight.empty()) return {};
  const TracepointFields formats(recording.tracing_data);
  Fields fields;
  for (const RecordedEvent& event : recording.events) {
    const bool tracepoint = event.layout.type == PERF_TYPE_TRACEPOINT && event.layout.sample_type & PERF_SAMPLE_RAW;
    fields.push_back(tracepoint ? formats.number(event.layout.config, options.weight) : std::nullopt);
  }
  const auto has_field = [](const auto& field) { return field.has_value(); };
  if (std::ranges::none_of(fields, has_field)) return no_such_field(recording, formats, options.weight);
  tell(untold(recording, fields, options), options.weight, recording.facts);
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!fields[i]) continue;
    recording.events[i].unit = unit_of_field(options.weight);
    recording.events[i].counted = "samples";
  }
  recording.readings.push_back(std::make_shared<WeightReading>(std::move(fields)));
  return {};
}

}  // namespace tephra::stream
