#include "formats/pprof_writer.h"

#include <algorithm>
#include <map>
#include <memory>
#include <protozero/pbf_builder.hpp>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/gzip_stream.h"
#include "base/hash.h"
#include "formats/pprof_fields.h"

namespace tephra::formats {
namespace {

using namespace pprof;
using model::CodeKind;
using model::Profile;

template <class Field>
using Builder = protozero::pbf_builder<Field>;

class Writer {
 public:
  explicit Writer(const Profile& profile) : profile_(profile), message_(bytes_) { text(""); }

  std::string write() && {
    add_types();
    add_samples();
    add_mappings();
    for (const auto& location : locations_) add_location(location);
    for (size_t i = 0; i < functions_.size(); ++i) add_function(i + 1, functions_[i]);
    add_facts();
    for (const std::string_view each : texts_) message_.add_string(ProfileField::kString, each.data(), each.size());
    return std::move(bytes_);
  }

 private:
  // Where an event's numbers are among the values of a sample.
  struct Places {
    int count = -1;
    int value = -1;
  };
  // One address: its frames, the innermost first.
  using Location = std::vector<model::FrameId>;

  int64_t text(std::string_view text) {
    const auto [at, fresh] = text_ids_.try_emplace(text, static_cast<int64_t>(texts_.size()));
    if (fresh) texts_.push_back(text);
    return at->second;
  }

  static std::string_view unit(std::string_view unit) {
    for (const auto& [ours, theirs] : kUnits) {
      if (unit == ours) return theirs;
    }
    return unit.empty() ? "count" : unit;
  }

  void add_type(ProfileField field, std::string_view type, std::string_view unit_name) {
    Builder<ValueTypeField> builder(message_, field);
    builder.add_int64(ValueTypeField::kType, text(type));
    builder.add_int64(ValueTypeField::kUnit, text(unit_name));
  }

  // Whether an event has numbers beside the count of its samples.
  bool has_value(model::EventId id) const {
    const model::Samples& samples = profile_.samples;
    for (size_t row = 0; row < samples.size(); ++row) {
      if (samples.event[row] == id && samples.value[row] != samples.count[row]) return true;
    }
    return false;
  }

  void add_types() {
    std::vector<bool> sampled(profile_.events.size());
    for (const model::EventId event : profile_.samples.event) sampled[event.value] = true;
    places_.resize(profile_.events.size());
    for (uint32_t i = 0; i < profile_.events.size(); ++i) {
      const model::Event& event = profile_.events[model::EventId{i}];
      if (!sampled[i]) continue;
      const std::string_view name = profile_.text(event.name);
      const std::string_view counted = event.counted ? profile_.text(event.counted) : "samples";
      const bool valued = event.uncounted || has_value(model::EventId{i});
      if (!event.uncounted) {
        places_[i].count = types_++;
        add_type(ProfileField::kSampleType, valued ? counted : name, "count");
      }
      if (valued) {
        places_[i].value = types_++;
        add_type(ProfileField::kSampleType, name, unit(profile_.text(event.unit)));
      }
    }
  }

  // Rows of one stack, thread and label set are one sample.
  void add_samples() {
    const model::Samples& samples = profile_.samples;
    std::vector<uint32_t> order(samples.size());
    for (uint32_t row = 0; row < order.size(); ++row) order[row] = row;
    const auto key = [&](uint32_t row) {
      return std::tuple(samples.stack[row], samples.thread[row],
                        samples.labels.empty() ? model::LabelSetId{} : samples.labels[row]);
    };
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    std::vector<int64_t> values(static_cast<size_t>(types_));
    for (size_t begin = 0; begin < order.size();) {
      std::fill(values.begin(), values.end(), 0);
      size_t end = begin;
      for (; end < order.size() && key(order[end]) == key(order[begin]); ++end) {
        const uint32_t row = order[end];
        const Places places = places_[samples.event[row].value];
        if (places.count >= 0) values[static_cast<size_t>(places.count)] += static_cast<int64_t>(samples.count[row]);
        if (places.value >= 0) values[static_cast<size_t>(places.value)] += static_cast<int64_t>(samples.value[row]);
      }
      add_sample(order[begin], values);
      begin = end;
    }
  }

  void add_sample(uint32_t row, const std::vector<int64_t>& values) {
    Builder<SampleField> sample(message_, ProfileField::kSample);
    const std::vector<uint64_t>& ids = locations_of(profile_.samples.stack[row]);
    sample.add_packed_uint64(SampleField::kLocation, ids.begin(), ids.end());
    sample.add_packed_int64(SampleField::kValue, values.begin(), values.end());
    const model::Thread& thread = profile_.threads[profile_.samples.thread[row]];
    if (thread.pid >= 0) add_number_label(sample, kPidLabel, thread.pid);
    if (thread.tid >= 0) add_number_label(sample, kTidLabel, thread.tid);
    if (thread.comm) {
      Builder<LabelField> label(sample, SampleField::kLabel);
      label.add_int64(LabelField::kKey, text(kCommLabel));
      label.add_int64(LabelField::kText, text(profile_.text(thread.comm)));
    }
    if (profile_.samples.labels.empty()) return;
    for (const model::Label& each : profile_.label_sets[profile_.samples.labels[row]].labels) {
      Builder<LabelField> label(sample, SampleField::kLabel);
      label.add_int64(LabelField::kKey, text(profile_.text(each.key)));
      if (each.text) label.add_int64(LabelField::kText, text(profile_.text(each.text)));
      if (each.number != 0) label.add_int64(LabelField::kNumber, each.number);
      if (each.unit) label.add_int64(LabelField::kUnit, text(profile_.text(each.unit)));
    }
  }

  void add_number_label(Builder<SampleField>& sample, std::string_view key, int64_t number) {
    Builder<LabelField> label(sample, SampleField::kLabel);
    label.add_int64(LabelField::kKey, text(key));
    label.add_int64(LabelField::kNumber, number);
  }

  // The numbers of a stack's locations, leaf first. Inlined frames are lines of the location they were inlined into.
  const std::vector<uint64_t>& locations_of(model::StackId stack) {
    ids_.clear();
    Location location;
    for (; stack; stack = profile_.stacks[stack].parent) {
      const model::FrameId frame = profile_.stacks[stack].frame;
      location.push_back(frame);
      if (profile_.frames[frame].inlined) continue;
      ids_.push_back(number_of(location));
      location.clear();
    }
    // An inlined frame whose caller is missing.
    if (!location.empty()) ids_.push_back(number_of(location));
    return ids_;
  }

  uint64_t number_of(const Location& location) {
    const auto [at, fresh] = location_ids_.try_emplace(location, locations_.size() + 1);
    if (fresh) locations_.push_back(location);
    return at->second;
  }

  // Where a mapping is in the address space that the profile shows: as it says, else behind all others.
  struct Range {
    uint64_t start = 0;
    uint64_t limit = 0;
  };

  bool is_written(model::MappingId id) const {
    const CodeKind kind = profile_.mappings[id].kind;
    return kind != CodeKind::kNone && (kind != CodeKind::kImported || profile_.mappings[id].path);
  }

  void add_mappings() {
    std::vector<uint64_t> highest(profile_.mappings.size());
    std::vector<uint8_t> knows(profile_.mappings.size());  // functions, files, lines, inlined: a bit each
    for (const Location& location : locations_) {
      for (const model::FrameId id : location) {
        const model::Frame& frame = profile_.frames[id];
        highest[frame.mapping.value] = std::max(highest[frame.mapping.value], frame.address + 1);
        const bool named = profile_.functions[frame.function].named;
        knows[frame.mapping.value] |= static_cast<uint8_t>((named ? 1 : 0) | (frame.file ? 2 : 0) |
                                                           (frame.line != 0 ? 4 : 0) | (frame.inlined ? 8 : 0));
      }
    }
    bases_.resize(profile_.mappings.size());
    uint64_t free = 0x10000;
    for (uint32_t i = 1; i < profile_.mappings.size(); ++i) {
      const model::MappingId id{i};
      if (highest[i] == 0 || !is_written(id)) continue;
      const model::Mapping& mapping = profile_.mappings[id];
      const bool from_file = mapping.kind == CodeKind::kFile || mapping.kind == CodeKind::kVdso;
      const uint64_t size = (std::max(highest[i], mapping.size) + 0xfff) & ~uint64_t{0xfff};
      if (from_file) {
        bases_[i] = mapping.base != 0 ? mapping.base : free;
        if (mapping.base == 0) free += size + 0x1000;
      }
      add_mapping(id, from_file ? Range{bases_[i], bases_[i] + (mapping.size != 0 ? mapping.size : size)}
                                : Range{0, highest[i]},
                  knows[i]);
    }
  }

  void add_mapping(model::MappingId id, const Range& range, uint8_t knows) {
    const model::Mapping& mapping = profile_.mappings[id];
    Builder<MappingField> builder(message_, ProfileField::kMapping);
    builder.add_uint64(MappingField::kId, id.value);
    builder.add_uint64(MappingField::kStart, range.start);
    builder.add_uint64(MappingField::kLimit, range.limit);
    builder.add_int64(MappingField::kFile, text(profile_.text(mapping.path)));
    if (!mapping.build_id.empty()) builder.add_int64(MappingField::kBuildId, own_text(mapping.build_id.hex()));
    builder.add_bool(MappingField::kHasFunctions, (knows & 1) != 0);
    builder.add_bool(MappingField::kHasFiles, (knows & 2) != 0);
    builder.add_bool(MappingField::kHasLines, (knows & 4) != 0);
    builder.add_bool(MappingField::kHasInlined, (knows & 8) != 0);
  }

  // A text that is not in the profile, and must outlive the table.
  int64_t own_text(std::string made) {
    own_texts_.push_back(std::make_unique<std::string>(std::move(made)));
    return text(*own_texts_.back());
  }

  void add_location(const Location& location) {
    const model::Frame& outer = profile_.frames[location.back()];
    Builder<LocationField> builder(message_, ProfileField::kLocation);
    builder.add_uint64(LocationField::kId, location_ids_.at(location));
    if (is_written(outer.mapping)) builder.add_uint64(LocationField::kMapping, outer.mapping.value);
    // In the call before it, as symbols are looked up.
    const uint64_t back = outer.kind == model::AddressKind::kReturn && outer.address > 0 ? 1 : 0;
    if (outer.address != 0) {
      builder.add_uint64(LocationField::kAddress, bases_[outer.mapping.value] + outer.address - back);
    }
    for (const model::FrameId id : location) {
      const model::Frame& frame = profile_.frames[id];
      if (!profile_.functions[frame.function].named) continue;
      Builder<LineField> line(builder, LocationField::kLine);
      line.add_uint64(LineField::kFunction, function_number(frame));
      if (frame.line != 0) line.add_int64(LineField::kLine, frame.line);
    }
  }

  // A function here is one with its source file.
  struct Function {
    model::FunctionId id;
    model::StringId file;
    auto operator<=>(const Function&) const = default;
  };

  uint64_t function_number(const model::Frame& frame) {
    const Function function{frame.function, frame.file};
    const auto [at, fresh] = function_ids_.try_emplace(function, functions_.size() + 1);
    if (fresh) functions_.push_back(function);
    return at->second;
  }

  void add_function(uint64_t number, const Function& function) {
    const model::Function& row = profile_.functions[function.id];
    Builder<FunctionField> builder(message_, ProfileField::kFunction);
    builder.add_uint64(FunctionField::kId, number);
    builder.add_int64(FunctionField::kName, text(profile_.text(row.name)));
    if (row.system_name) builder.add_int64(FunctionField::kSystemName, text(profile_.text(row.system_name)));
    if (function.file) builder.add_int64(FunctionField::kFile, text(profile_.text(function.file)));
    if (row.start_line != 0) builder.add_int64(FunctionField::kStartLine, row.start_line);
  }

  void add_facts() {
    const model::RecordingFacts& facts = profile_.facts;
    if (!facts.drop_frames.empty()) message_.add_int64(ProfileField::kDropFrames, text(facts.drop_frames));
    if (!facts.keep_frames.empty()) message_.add_int64(ProfileField::kKeepFrames, text(facts.keep_frames));
    if (facts.started_unix_ns != 0) message_.add_int64(ProfileField::kTime, facts.started_unix_ns);
    const int64_t recorded = static_cast<int64_t>(facts.last_time - std::min(facts.first_time, facts.last_time));
    if (const int64_t duration = facts.duration_ns != 0 ? facts.duration_ns : recorded; duration != 0) {
      message_.add_int64(ProfileField::kDuration, duration);
    }
    if (!facts.period.event.empty()) {
      add_type(ProfileField::kPeriodType, facts.period.event, unit(facts.period.unit));
      message_.add_int64(ProfileField::kPeriod, facts.period.value);
    }
    for (const std::string& comment : facts.comments) message_.add_int64(ProfileField::kComment, text(comment));
    if (!facts.default_event.empty()) message_.add_int64(ProfileField::kDefaultType, text(facts.default_event));
  }

  struct HashOfLocation {
    size_t operator()(const Location& location) const {
      uint64_t hash = location.size();
      for (const model::FrameId frame : location) hash = base::mix(hash, frame.value);
      return hash;
    }
  };

  const Profile& profile_;
  std::string bytes_;
  Builder<ProfileField> message_;
  std::vector<std::string_view> texts_;
  std::unordered_map<std::string_view, int64_t> text_ids_;
  std::vector<std::unique_ptr<std::string>> own_texts_;
  int types_ = 0;
  std::vector<Places> places_;  // by event
  std::vector<Location> locations_;
  std::unordered_map<Location, uint64_t, HashOfLocation> location_ids_;
  std::vector<Function> functions_;
  std::map<Function, uint64_t> function_ids_;
  std::vector<uint64_t> bases_;  // by mapping: what is added to its addresses
  std::vector<uint64_t> ids_;    // of the stack at hand
};

}  // namespace

base::Result<std::string> write_pprof(const Profile& profile) {
  const std::string message = Writer(profile).write();
  base::GzipCompressor gzip;
  std::string packed;
  TEPHRA_CHECK_OK(gzip.compress(base::as_bytes(message), packed));
  TEPHRA_CHECK_OK(gzip.finish(packed));
  return packed;
}

}  // namespace tephra::formats
