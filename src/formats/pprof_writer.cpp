#include "formats/pprof_writer.h"

#include <algorithm>
#include <deque>
#include <map>
#include <protozero/pbf_builder.hpp>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/gzip.h"
#include "base/hash.h"
#include "formats/pprof_fields.h"
#include "formats/pprof_types.h"

namespace tephra::formats {
namespace {

using namespace pprof;
using model::CodeKind;
using model::Profile;

template <class Field>
using Builder = protozero::pbf_builder<Field>;

// Texts as the file numbers them. Those of the profile are found by their number there.
class Texts {
 public:
  explicit Texts(const model::StringTable& strings) : strings_(strings), numbers_(strings.size(), kNone) {
    numbers_[0] = 0;
    texts_.emplace_back();
  }

  int64_t number(model::StringId id) {
    int64_t& known = numbers_[id.value];
    if (known == kNone) known = add(strings_[id]);
    return known;
  }
  // `text` must live as long as this, or be in the profile.
  int64_t number(std::string_view text) {
    if (text.empty()) return 0;
    if (const model::StringId id = strings_.find(text)) return number(id);
    const auto [at, fresh] = others_.try_emplace(text, static_cast<int64_t>(texts_.size()));
    if (fresh) texts_.push_back(text);
    return at->second;
  }
  const std::vector<std::string_view>& all() const { return texts_; }

 private:
  static constexpr int64_t kNone = -1;

  int64_t add(std::string_view text) {
    texts_.push_back(text);
    return static_cast<int64_t>(texts_.size() - 1);
  }

  const model::StringTable& strings_;
  std::vector<int64_t> numbers_;  // by StringId
  std::unordered_map<std::string_view, int64_t> others_;
  std::vector<std::string_view> texts_;
};

class Writer {
 public:
  explicit Writer(const Profile& profile)
      : profile_(profile),
        message_(bytes_),
        texts_(profile.strings),
        types_(profile),
        single_ids_(profile.frames.size()) {}

  base::Result<std::string> write() && {
    for (const NamedType& type : types_.all()) add_type(ProfileField::kSampleType, type.name, type.unit);
    add_samples();
    if (overflows_) return base::failed("cannot write", "", "a sum is larger than pprof's numbers can be");
    add_mappings();
    for (size_t i = 0; i < locations_.size(); ++i) add_location(i + 1, locations_[i]);
    for (size_t i = 0; i < functions_.size(); ++i) add_function(i + 1, functions_[i]);
    add_facts();
    for (const std::string_view each : texts_.all()) {
      message_.add_string(ProfileField::kString, each.data(), each.size());
    }
    return std::move(bytes_);
  }

 private:
  // One address: its frames, the innermost first.
  using Location = std::vector<model::FrameId>;

  static std::string_view unit(std::string_view unit) {
    for (const auto& [ours, theirs] : kUnits) {
      if (unit == ours) return theirs;
    }
    return unit;
  }

  void add_type(ProfileField field, std::string_view type, std::string_view unit_name) {
    Builder<ValueTypeField> builder(message_, field);
    builder.add_int64(ValueTypeField::kType, texts_.number(type));
    builder.add_int64(ValueTypeField::kUnit, texts_.number(unit_name));
  }

  // What rows of one sample agree in.
  struct Key {
    uint64_t stack_and_thread = 0;
    uint32_t labels = 0;
    uint32_t row = 0;
    auto operator<=>(const Key&) const = default;
    bool same_sample(const Key& other) const {
      return stack_and_thread == other.stack_and_thread && labels == other.labels;
    }
  };

  std::vector<Key> sorted_keys() const {
    const model::Samples& samples = profile_.samples;
    std::vector<Key> keys(samples.size());
    for (uint32_t row = 0; row < keys.size(); ++row) {
      keys[row] = {uint64_t{samples.stack[row].value} << 32 | samples.thread[row].value,
                   samples.labels.empty() ? 0 : samples.labels[row].value, row};
    }
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  // Rows of one stack, thread and label set are one sample.
  void add_samples() {
    const model::Samples& samples = profile_.samples;
    const std::vector<Key> keys = sorted_keys();
    std::vector<int64_t> values(types_.all().size());
    for (size_t begin = 0; begin < keys.size();) {
      std::fill(values.begin(), values.end(), 0);
      size_t end = begin;
      for (; end < keys.size() && keys[end].same_sample(keys[begin]); ++end) {
        const uint32_t row = keys[end].row;
        const WrittenTypes::Places places = types_.places(samples.event[row]);
        if (places.count >= 0) add(samples.count[row], values[static_cast<size_t>(places.count)]);
        if (places.value >= 0) add(samples.value[row], values[static_cast<size_t>(places.value)]);
      }
      add_sample(keys[begin].row, values);
      begin = end;
    }
  }

  void add(uint64_t number, int64_t& sum) {
    overflows_ = overflows_ || number > INT64_MAX || __builtin_add_overflow(sum, static_cast<int64_t>(number), &sum);
  }

  void add_sample(uint32_t row, const std::vector<int64_t>& values) {
    find_locations(profile_.samples.stack[row]);
    Builder<SampleField> sample(message_, ProfileField::kSample);
    sample.add_packed_uint64(SampleField::kLocation, ids_.begin(), ids_.end());
    sample.add_packed_int64(SampleField::kValue, values.begin(), values.end());
    const model::Thread& thread = profile_.threads[profile_.samples.thread[row]];
    if (thread.pid >= 0) add_number_label(sample, kPidLabel, thread.pid);
    if (thread.tid >= 0) add_number_label(sample, kTidLabel, thread.tid);
    if (thread.comm) {
      Builder<LabelField> label(sample, SampleField::kLabel);
      label.add_int64(LabelField::kKey, texts_.number(kCommLabel));
      label.add_int64(LabelField::kText, texts_.number(thread.comm));
    }
    if (profile_.samples.labels.empty()) return;
    for (const model::Label& each : profile_.label_sets[profile_.samples.labels[row]].labels) {
      Builder<LabelField> label(sample, SampleField::kLabel);
      label.add_int64(LabelField::kKey, texts_.number(each.key));
      if (each.text) label.add_int64(LabelField::kText, texts_.number(each.text));
      if (each.number != 0) label.add_int64(LabelField::kNumber, each.number);
      if (each.unit) label.add_int64(LabelField::kUnit, texts_.number(each.unit));
    }
  }

  void add_number_label(Builder<SampleField>& sample, std::string_view key, int64_t number) {
    Builder<LabelField> label(sample, SampleField::kLabel);
    label.add_int64(LabelField::kKey, texts_.number(key));
    label.add_int64(LabelField::kNumber, number);
  }

  // The numbers of a stack's locations, leaf first, in ids_. Inlined frames are lines of the location they were inlined
  // into.
  void find_locations(model::StackId stack) {
    ids_.clear();
    location_.clear();
    for (; stack; stack = profile_.stacks[stack].parent) {
      const model::FrameId frame = profile_.stacks[stack].frame;
      location_.push_back(frame);
      if (profile_.frames[frame].inlined) continue;
      ids_.push_back(number_of_location());
      location_.clear();
    }
    // An inlined frame whose caller is missing.
    if (!location_.empty()) ids_.push_back(number_of_location());
  }

  uint64_t number_of_location() {
    if (location_.size() > 1) return number_of_inlined();
    uint64_t& known = single_ids_[location_[0].value];
    if (known == 0) {
      locations_.push_back(location_);
      known = locations_.size();
    }
    return known;
  }

  uint64_t number_of_inlined() {
    const auto [at, fresh] = location_ids_.try_emplace(location_, locations_.size() + 1);
    if (fresh) locations_.push_back(location_);
    return at->second;
  }

  // Generated functions are mappings of their own here, of which there are thousands; their names are what matters.
  bool is_written(model::MappingId id) const {
    const model::Mapping& mapping = profile_.mappings[id];
    const bool says_something = mapping.path || mapping.size != 0 || !mapping.build_id.empty();
    return mapping.kind != CodeKind::kNone && mapping.kind != CodeKind::kJit && mapping.kind != CodeKind::kKernelCode &&
           says_something;
  }

  static bool is_relative(const model::Mapping& mapping) {
    return mapping.kind == CodeKind::kFile || mapping.kind == CodeKind::kVdso;
  }

  // What the locations say of a mapping.
  struct MappingUse {
    uint64_t lowest = UINT64_MAX;
    uint64_t highest = 0;
    bool functions = false, files = false, lines = false, inlined = false;
  };

  std::vector<MappingUse> mapping_uses() const {
    std::vector<MappingUse> uses(profile_.mappings.size());
    for (const Location& location : locations_) {
      for (const model::FrameId id : location) {
        const model::Frame& frame = profile_.frames[id];
        MappingUse& use = uses[frame.mapping.value];
        use.lowest = std::min(use.lowest, frame.address);
        use.highest = std::max(use.highest, frame.address);
        use.functions |= profile_.functions[frame.function].named;
        use.files |= static_cast<bool>(frame.file);
        use.lines |= frame.line != 0;
        use.inlined |= frame.inlined;
      }
    }
    return uses;
  }

  void add_mappings() {
    const std::vector<MappingUse> uses = mapping_uses();
    bases_.resize(profile_.mappings.size());
    uint64_t free = 0x10000;
    for (const model::MappingId id : mappings_in_order()) {
      const uint32_t i = id.value;
      const model::Mapping& mapping = profile_.mappings[id];
      const bool used = uses[i].lowest <= uses[i].highest;
      const bool placed = mapping.size != 0;
      if (!is_written(id) || (!used && !placed)) continue;
      if (placed) {
        if (is_relative(mapping)) bases_[i] = mapping.base;
        add_mapping(id, {mapping.base, mapping.base + mapping.size}, uses[i]);
      } else if (is_relative(mapping)) {
        // Of many processes: somewhere behind the others.
        const uint64_t size = (uses[i].highest | 0xfff) + 1;
        bases_[i] = free;
        add_mapping(id, {free, free + size}, uses[i]);
        free += size + 0x1000;
      } else if (uses[i].highest == 0) {
        add_mapping(id, {}, uses[i]);  // names alone
      } else {
        add_mapping(id, {uses[i].lowest & ~uint64_t{0xfff}, (uses[i].highest | 0xfff) + 1}, uses[i]);
      }
    }
  }

  // The first one is the program to pprof. Profiles of others have it there already.
  std::vector<model::MappingId> mappings_in_order() const {
    std::vector<model::MappingId> order;
    for (uint32_t i = 1; i < profile_.mappings.size(); ++i) order.push_back(model::MappingId{i});
    if (profile_.facts.engine == model::kEngineImported) return order;
    std::stable_partition(order.begin(), order.end(), [&](model::MappingId id) {
      const bool library = profile_.text(profile_.mappings[id].path).find(".so") != std::string_view::npos;
      return profile_.mappings[id].kind == CodeKind::kFile && !library;
    });
    return order;
  }

  struct Range {
    uint64_t start = 0;
    uint64_t limit = 0;
  };

  void add_mapping(model::MappingId id, const Range& range, const MappingUse& use) {
    const model::Mapping& mapping = profile_.mappings[id];
    Builder<MappingField> builder(message_, ProfileField::kMapping);
    builder.add_uint64(MappingField::kId, id.value);
    builder.add_uint64(MappingField::kStart, range.start);
    builder.add_uint64(MappingField::kLimit, range.limit);
    builder.add_int64(MappingField::kFile, texts_.number(mapping.path));
    if (!mapping.build_id.empty()) builder.add_int64(MappingField::kBuildId, own_text(mapping.build_id.hex()));
    builder.add_bool(MappingField::kHasFunctions, use.functions);
    builder.add_bool(MappingField::kHasFiles, use.files);
    builder.add_bool(MappingField::kHasLines, use.lines);
    builder.add_bool(MappingField::kHasInlined, use.inlined);
  }

  // A text that is not in the profile, and must outlive the table.
  int64_t own_text(std::string made) { return texts_.number(own_texts_.emplace_back(std::move(made))); }

  void add_location(uint64_t number, const Location& location) {
    const model::Frame& outer = profile_.frames[location.back()];
    Builder<LocationField> builder(message_, ProfileField::kLocation);
    builder.add_uint64(LocationField::kId, number);
    if (is_written(outer.mapping)) builder.add_uint64(LocationField::kMapping, outer.mapping.value);
    // In the call before it, as symbols are looked up.
    const uint64_t back = outer.kind == model::AddressKind::kReturn && outer.address > 0 ? 1 : 0;
    const uint64_t address = bases_[outer.mapping.value] + outer.address - back;
    if (address != 0) builder.add_uint64(LocationField::kAddress, address);
    for (const model::FrameId id : location) {
      const model::Frame& frame = profile_.frames[id];
      // What stands in for a name is no name, unless it is all there is.
      if (!profile_.functions[frame.function].name) continue;
      if (!profile_.functions[frame.function].named && address != 0) continue;
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
    builder.add_int64(FunctionField::kName, texts_.number(row.name));
    if (row.system_name) builder.add_int64(FunctionField::kSystemName, texts_.number(row.system_name));
    if (function.file) builder.add_int64(FunctionField::kFile, texts_.number(function.file));
    if (row.start_line != 0) builder.add_int64(FunctionField::kStartLine, row.start_line);
  }

  void add_facts() {
    const model::RecordingFacts& facts = profile_.facts;
    if (!facts.drop_frames.empty()) message_.add_int64(ProfileField::kDropFrames, texts_.number(facts.drop_frames));
    if (!facts.keep_frames.empty()) message_.add_int64(ProfileField::kKeepFrames, texts_.number(facts.keep_frames));
    if (facts.started_unix_ns != 0) message_.add_int64(ProfileField::kTime, facts.started_unix_ns);
    const int64_t recorded = static_cast<int64_t>(facts.last_time - std::min(facts.first_time, facts.last_time));
    if (const int64_t duration = facts.duration_ns != 0 ? facts.duration_ns : recorded; duration != 0) {
      message_.add_int64(ProfileField::kDuration, duration);
    }
    if (facts.period != model::SamplingPeriod{}) {
      add_type(ProfileField::kPeriodType, facts.period.event, unit(facts.period.unit));
      message_.add_int64(ProfileField::kPeriod, facts.period.value);
    }
    for (const std::string& comment : facts.comments) {
      message_.add_int64(ProfileField::kComment, texts_.number(comment));
    }
    // The last one is shown unless another is named.
    const std::string_view shown = types_.shown();
    if (!shown.empty() && shown != types_.all().back().name) {
      message_.add_int64(ProfileField::kDefaultType, texts_.number(shown));
    }
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
  Texts texts_;
  std::deque<std::string> own_texts_;
  const WrittenTypes types_;
  bool overflows_ = false;
  std::vector<Location> locations_;
  std::vector<uint64_t> single_ids_;  // of locations of one frame, by frame; 0 where there is none yet
  std::unordered_map<Location, uint64_t, HashOfLocation> location_ids_;  // of the others
  std::vector<Function> functions_;
  std::map<Function, uint64_t> function_ids_;
  std::vector<uint64_t> bases_;  // by mapping: what is added to its addresses
  // Of the stack at hand: the numbers of its locations, and the frames of the next one.
  std::vector<uint64_t> ids_;
  Location location_;
};

}  // namespace

base::Result<std::string> write_pprof(const Profile& profile) {
  TEPHRA_TRY(const std::string message, Writer(profile).write());
  return base::gzip(base::as_bytes(message));
}

}  // namespace tephra::formats
