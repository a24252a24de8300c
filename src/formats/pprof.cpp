#include "formats/pprof.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <protozero/pbf_message.hpp>
#include <unordered_map>
#include <vector>

#include "formats/pprof_fields.h"
#include "formats/pprof_writer.h"
#include "model/profile_assembler.h"

namespace tephra::formats {
namespace {

using namespace pprof;

template <class Field>
using Message = protozero::pbf_message<Field>;

// What is wrong with a profile, as the end of a sentence.
struct Malformed {
  std::string why;
};

// Rows by the numbers that the file gives them, which mostly are 1, 2, 3…
template <class Row>
class Numbered {
 public:
  void add(uint64_t id, Row row) {
    if (id == 0) throw Malformed{"something has the number 0"};
    if (id == dense_.size() + 1) {
      dense_.push_back(std::move(row));
    } else if (id <= dense_.size() || !sparse_.emplace(id, std::move(row)).second) {
      throw Malformed{fmt::format("two things have the number {}", id)};
    }
  }
  const Row* find(uint64_t id) const {
    if (id - 1 < dense_.size()) return &dense_[id - 1];
    const auto found = sparse_.find(id);
    return found == sparse_.end() ? nullptr : &found->second;
  }

 private:
  std::vector<Row> dense_;
  std::unordered_map<uint64_t, Row> sparse_;
};

struct ValueType {
  uint64_t type = 0;
  uint64_t unit = 0;
};

// The tables of a file. Numbers of texts are kept until all texts are known: they come last.
struct Tables {
  struct Mapping {
    uint64_t start = 0;
    uint64_t limit = 0;
    uint64_t offset = 0;
    uint64_t file = 0;
    uint64_t build_id = 0;
  };
  struct Function {
    uint64_t name = 0;
    uint64_t system_name = 0;
    uint64_t file = 0;
    uint64_t start_line = 0;
  };
  struct Line {
    uint64_t function = 0;
    uint64_t line = 0;
  };
  struct Location {
    uint64_t id = 0;
    uint64_t mapping = 0;
    uint64_t address = 0;
    std::vector<Line> lines;
  };

  std::vector<std::string_view> texts;
  std::vector<ValueType> types;
  Numbered<Mapping> mappings;
  Numbered<Function> functions;
  std::vector<Location> locations;
  std::vector<protozero::data_view> samples;
  std::vector<uint64_t> comments;
  ValueType period_type;
  int64_t period = 0;
  int64_t time = 0;
  int64_t duration = 0;
  uint64_t default_type = 0;
  uint64_t drop_frames = 0;
  uint64_t keep_frames = 0;

  std::string_view text(uint64_t id) const {
    if (id < texts.size()) return texts[id];
    throw Malformed{fmt::format("there is no text {}", id)};
  }
};

std::string_view text_of(const protozero::data_view& view) { return {view.data(), view.size()}; }

ValueType read_value_type(Message<ValueTypeField> message) {
  ValueType type;
  while (message.next()) {
    switch (message.tag()) {
      case ValueTypeField::kType:
        type.type = message.get_uint64();
        break;
      case ValueTypeField::kUnit:
        type.unit = message.get_uint64();
        break;
      default:
        message.skip();
    }
  }
  return type;
}

void read_mapping(Message<MappingField> message, Numbered<Tables::Mapping>& mappings) {
  Tables::Mapping row;
  uint64_t id = 0;
  while (message.next()) {
    switch (message.tag()) {
      case MappingField::kId:
        id = message.get_uint64();
        break;
      case MappingField::kStart:
        row.start = message.get_uint64();
        break;
      case MappingField::kLimit:
        row.limit = message.get_uint64();
        break;
      case MappingField::kOffset:
        row.offset = message.get_uint64();
        break;
      case MappingField::kFile:
        row.file = message.get_uint64();
        break;
      case MappingField::kBuildId:
        row.build_id = message.get_uint64();
        break;
      default:
        message.skip();
    }
  }
  mappings.add(id, row);
}

void read_function(Message<FunctionField> message, Numbered<Tables::Function>& functions) {
  Tables::Function row;
  uint64_t id = 0;
  while (message.next()) {
    switch (message.tag()) {
      case FunctionField::kId:
        id = message.get_uint64();
        break;
      case FunctionField::kName:
        row.name = message.get_uint64();
        break;
      case FunctionField::kSystemName:
        row.system_name = message.get_uint64();
        break;
      case FunctionField::kFile:
        row.file = message.get_uint64();
        break;
      case FunctionField::kStartLine:
        row.start_line = message.get_uint64();
        break;
      default:
        message.skip();
    }
  }
  functions.add(id, row);
}

Tables::Line read_line(Message<LineField> message) {
  Tables::Line line;
  while (message.next()) {
    switch (message.tag()) {
      case LineField::kFunction:
        line.function = message.get_uint64();
        break;
      case LineField::kLine:
        line.line = message.get_uint64();
        break;
      default:
        message.skip();
    }
  }
  return line;
}

Tables::Location read_location(Message<LocationField> message) {
  Tables::Location row;
  while (message.next()) {
    switch (message.tag()) {
      case LocationField::kId:
        row.id = message.get_uint64();
        break;
      case LocationField::kMapping:
        row.mapping = message.get_uint64();
        break;
      case LocationField::kAddress:
        row.address = message.get_uint64();
        break;
      case LocationField::kLine:
        row.lines.push_back(read_line(message.get_message()));
        break;
      default:
        message.skip();
    }
  }
  return row;
}

// Numbers that are written packed, or one by one by old writers.
template <class Field, class Add>
void read_numbers(Message<Field>& message, Add add) {
  if (message.has_wire_type(protozero::pbf_wire_type::length_delimited)) {
    for (const uint64_t number : message.get_packed_uint64()) add(number);
  } else {
    add(message.get_uint64());
  }
}

Tables read_tables(base::Bytes bytes) {
  Tables tables;
  Message<ProfileField> message(protozero::data_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  while (message.next()) {
    switch (message.tag()) {
      case ProfileField::kSampleType:
        tables.types.push_back(read_value_type(message.get_message()));
        break;
      case ProfileField::kSample:
        tables.samples.push_back(message.get_view());
        break;
      case ProfileField::kMapping:
        read_mapping(message.get_message(), tables.mappings);
        break;
      case ProfileField::kLocation:
        tables.locations.push_back(read_location(message.get_message()));
        break;
      case ProfileField::kFunction:
        read_function(message.get_message(), tables.functions);
        break;
      case ProfileField::kString:
        tables.texts.push_back(text_of(message.get_view()));
        break;
      case ProfileField::kDropFrames:
        tables.drop_frames = message.get_uint64();
        break;
      case ProfileField::kKeepFrames:
        tables.keep_frames = message.get_uint64();
        break;
      case ProfileField::kTime:
        tables.time = message.get_int64();
        break;
      case ProfileField::kDuration:
        tables.duration = message.get_int64();
        break;
      case ProfileField::kPeriodType:
        tables.period_type = read_value_type(message.get_message());
        break;
      case ProfileField::kPeriod:
        tables.period = message.get_int64();
        break;
      case ProfileField::kComment:
        read_numbers(message, [&](uint64_t number) { tables.comments.push_back(number); });
        break;
      case ProfileField::kDefaultType:
        tables.default_type = message.get_uint64();
        break;
      default:
        message.skip();
    }
  }
  return tables;
}

// A Profile of the tables. Throws Malformed.
class Reader {
 public:
  explicit Reader(const Tables& tables) : tables_(tables) {
    if (tables.texts.empty() || !tables.texts[0].empty()) throw Malformed{"its first text is not the empty one"};
    if (tables.types.empty()) throw Malformed{"it says of no value what it is"};
    none_ = assembler_.mapping({.kind = model::CodeKind::kImported});
    add_events();
    for (const Tables::Location& location : tables.locations) add_location(location);
    add_facts();
  }

  model::Profile read() && {
    for (const protozero::data_view& sample : tables_.samples) add_sample(Message<SampleField>(sample));
    return std::move(assembler_).finish();
  }

 private:
  // Which of a sample's values are the count and the value of an event.
  struct Event {
    model::EventId id;
    std::optional<size_t> count;
    size_t value;
  };
  // What a location stands for: outer before inner.
  struct Frames {
    uint32_t first = 0;
    uint32_t count = 0;
  };

  model::StringId text(uint64_t id) { return assembler_.string(tables_.text(id)); }

  std::string_view unit(uint64_t id) const {
    const std::string_view unit = tables_.text(id);
    for (const auto& [ours, theirs] : kUnits) {
      if (unit == theirs) return ours;
    }
    return unit;
  }

  bool counts(size_t type) const { return tables_.text(tables_.types[type].unit) == "count"; }

  void add_events() {
    for (size_t i = 0; i < tables_.types.size(); ++i) {
      const bool pair = counts(i) && i + 1 < tables_.types.size() && !counts(i + 1);
      const size_t value = pair ? i + 1 : i;
      const ValueType& type = tables_.types[value];
      model::Event event{text(type.type), assembler_.string(unit(type.unit)), {}, false};
      // Samples are what is counted unless something else is named.
      if (pair && tables_.text(tables_.types[i].type) != "samples") event.counted = text(tables_.types[i].type);
      event.uncounted = !pair && !counts(i);
      const auto count = pair || counts(i) ? std::optional(i) : std::nullopt;
      events_.push_back({assembler_.event(event), count, value});
      if (text(tables_.default_type) == event.name) assembler_.facts().default_event = tables_.text(type.type);
      i = value;
    }
  }

  void add_facts() {
    model::RecordingFacts& facts = assembler_.facts();
    facts.format = "pprof";
    facts.engine = "imported";
    facts.started_unix_ns = tables_.time;
    facts.duration_ns = tables_.duration;
    facts.drop_frames = tables_.text(tables_.drop_frames);
    facts.keep_frames = tables_.text(tables_.keep_frames);
    facts.period = {std::string(tables_.text(tables_.period_type.type)), std::string(unit(tables_.period_type.unit)),
                    tables_.period};
    for (const uint64_t comment : tables_.comments) facts.comments.emplace_back(tables_.text(comment));
    // As pprof does: unless it says so, the last type is what to look at first.
    if (facts.default_event.empty()) {
      const model::Profile& so_far = assembler_.so_far();
      facts.default_event = so_far.text(so_far.events[events_.back().id].name);
    }
  }

  // The frame but for its function: where the code is.
  model::Frame place_of(const Tables::Location& location) {
    if (location.mapping == 0) return {.mapping = none_, .address = location.address};
    const auto [at, fresh] = mappings_.try_emplace(location.mapping);
    const Tables::Mapping* from = tables_.mappings.find(location.mapping);
    if (from == nullptr) throw Malformed{fmt::format("there is no mapping {}", location.mapping)};
    if (fresh) at->second = mapping_of(*from);
    const bool is_file = assembler_.so_far().mappings[at->second].kind == model::CodeKind::kFile;
    const uint64_t address = is_file ? location.address - from->start + from->offset : location.address;
    return {.mapping = at->second, .address = address};
  }

  model::MappingId mapping_of(const Tables::Mapping& from) {
    const std::string_view path = tables_.text(from.file);
    model::Mapping row{.path = text(from.file), .build_id = build_id(from.build_id)};
    if (path.starts_with("[kernel") || path.starts_with("[guest.kernel")) {
      row.kind = model::CodeKind::kKernel;
    } else if (path == "[vdso]" || path == "[vsyscall]") {
      row.kind = model::CodeKind::kImported;
    } else {
      row.kind = path.empty() ? model::CodeKind::kImported : model::CodeKind::kFile;
      row.base = from.start - from.offset;
      row.size = from.limit - row.base;
    }
    return assembler_.mapping(row);
  }

  model::BuildId build_id(uint64_t id) const {
    return model::BuildId::from_hex(tables_.text(id)).value_or(model::BuildId());
  }

  void add_location(const Tables::Location& location) {
    const auto first = static_cast<uint32_t>(frames_.size());
    model::Frame frame = place_of(location);
    // The last line is the outermost, into which the others are inlined.
    for (size_t left = location.lines.size(); left > 0; --left) {
      const Tables::Line& line = location.lines[left - 1];
      const Tables::Function* function = tables_.functions.find(line.function);
      if (function == nullptr) throw Malformed{fmt::format("there is no function {}", line.function)};
      frame.function = assembler_.function({text(function->name), text(function->system_name), true,
                                            static_cast<uint32_t>(function->start_line)});
      frame.file = text(function->file);
      frame.line = static_cast<uint32_t>(line.line);
      frame.inlined = left < location.lines.size();
      frames_.push_back(assembler_.frame(frame));
    }
    if (location.lines.empty()) frames_.push_back(assembler_.frame(frame));
    locations_.add(location.id, {first, static_cast<uint32_t>(frames_.size()) - first});
  }

  // A label of a sample; those that say whose it is go to `thread`.
  void add_label(Message<LabelField> message, model::Thread& thread) {
    uint64_t key = 0, str = 0, unit = 0;
    int64_t number = 0;
    while (message.next()) {
      switch (message.tag()) {
        case LabelField::kKey:
          key = message.get_uint64();
          break;
        case LabelField::kText:
          str = message.get_uint64();
          break;
        case LabelField::kNumber:
          number = message.get_int64();
          break;
        case LabelField::kUnit:
          unit = message.get_uint64();
          break;
        default:
          message.skip();
      }
    }
    const std::string_view name = tables_.text(key);
    const bool is_id = str == 0 && number >= 0 && number <= INT32_MAX;
    if (name == kPidLabel && is_id) {
      thread.pid = static_cast<int32_t>(number);
    } else if (name == kTidLabel && is_id) {
      thread.tid = static_cast<int32_t>(number);
    } else if (name == kCommLabel && str != 0) {
      thread.comm = text(str);
    } else {
      labels_.push_back({text(key), text(str), number, text(unit)});
    }
  }

  void add_sample(Message<SampleField> message) {
    ids_.clear();
    values_.clear();
    labels_.clear();
    model::Thread thread;
    while (message.next()) {
      switch (message.tag()) {
        case SampleField::kLocation:
          read_numbers(message, [this](uint64_t id) { ids_.push_back(id); });
          break;
        case SampleField::kValue:
          read_numbers(message, [this](uint64_t value) { values_.push_back(value); });
          break;
        case SampleField::kLabel:
          add_label(message.get_message(), thread);
          break;
        default:
          message.skip();
      }
    }
    if (values_.size() != tables_.types.size()) {
      throw Malformed{fmt::format("a sample has {} values, not {}", values_.size(), tables_.types.size())};
    }
    add_rows(stack_of_ids(), assembler_.thread(thread), assembler_.labels(labels_));
  }

  model::StackId stack_of_ids() {
    model::StackId stack;
    for (size_t left = ids_.size(); left > 0; --left) {
      const Frames* frames = locations_.find(ids_[left - 1]);
      if (frames == nullptr) throw Malformed{fmt::format("there is no location {}", ids_[left - 1])};
      for (uint32_t i = 0; i < frames->count; ++i) stack = assembler_.stack(stack, frames_[frames->first + i]);
    }
    return stack;
  }

  void add_rows(model::StackId stack, model::ThreadId thread, model::LabelSetId labels) {
    for (const Event& event : events_) {
      const uint64_t value = values_[event.value];
      const uint64_t count = event.count ? values_[*event.count] : 1;
      if (value == 0 && (count == 0 || !event.count)) continue;
      if (value > INT64_MAX || count > INT64_MAX) {
        throw Malformed{"it holds negative values: it is the difference of two profiles"};
      }
      assembler_.sample({.stack = stack, .event = event.id, .thread = thread, .count = count, .value = value,
                         .labels = labels});
    }
  }

  const Tables& tables_;
  model::ProfileAssembler assembler_;
  model::MappingId none_;
  std::vector<Event> events_;
  std::unordered_map<uint64_t, model::MappingId> mappings_;
  std::vector<model::FrameId> frames_;
  Numbered<Frames> locations_;
  // Of the sample at hand.
  std::vector<uint64_t> ids_;
  std::vector<uint64_t> values_;
  std::vector<model::Label> labels_;
};

base::Result<model::Profile> read(base::Bytes bytes) {
  try {
    const Tables tables = read_tables(bytes);
    return Reader(tables).read();
  } catch (const Malformed& malformed) {
    return base::failed("cannot read", "", malformed.why);
  } catch (const protozero::exception& error) {
    return base::failed("cannot read", "", fmt::format("it is damaged ({})", error.what()));
  }
}

// It has no signature: the fields of its beginning must be those of a profile.
std::string refusal(base::Bytes bytes) {
  constexpr int kFields = 64;
  try {
    Message<ProfileField> message(protozero::data_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    for (int i = 0; i < kFields && message.next(); ++i) {
      const auto tag = static_cast<uint32_t>(message.tag());
      const bool is_message = tag <= static_cast<uint32_t>(ProfileField::kString) ||
                              message.tag() == ProfileField::kPeriodType;
      const bool packed = message.has_wire_type(protozero::pbf_wire_type::length_delimited);
      if (tag > 16 || (is_message && !packed)) return fmt::format("profile.proto has no field {}", tag);
      message.skip();
    }
    return {};
  } catch (const protozero::exception&) {
    return "it is no protocol buffer";
  }
}

}  // namespace

const Format kPprof{
    .name = "pprof",
    .summary = "profile.proto of pprof, Go, Parca and Pyroscope",
    .endings = ".pb.gz .pprof .pb",
    .refusal = refusal,
    .read = read,
    .write = write_pprof,
};

}  // namespace tephra::formats
