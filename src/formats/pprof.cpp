#include "formats/pprof.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/number_hash.h"
#include "formats/imported_mapping.h"
#include "formats/pprof_tables.h"
#include "formats/pprof_types.h"
#include "formats/pprof_writer.h"
#include "formats/stack_tree.h"
#include "model/event_units.h"
#include "model/profile_assembler.h"

namespace tephra::formats {
namespace {

using namespace pprof;

// A Profile of the tables. Throws Malformed.
class Reader {
 public:
  // `size`: of the file, which bounds how much may come of it.
  Reader(const Tables& tables, size_t size)
      : tables_(tables), most_frames_(std::min(kMostFrames, kFewFrames + 16 * size)) {
    // They come last, and there is one at least.
    if (tables.texts.empty()) throw Malformed{"it has no texts: it is cut off"};
    if (!tables.texts[0].empty()) throw Malformed{"its first text is not the empty one"};
    if (tables.types.empty()) throw Malformed{"it says of no value what it is"};
    none_ = assembler_.mapping({.kind = model::CodeKind::kImported});
    add_events();
    for (const auto& [id, mapping] : tables.mappings.in_order()) add_file_mapping(id, *mapping);
    for (const Tables::Location& location : tables.locations) add_location(location);
    add_facts();
  }

  model::Profile read() && {
    // Each use of a location is a byte at least. What is not used of the room costs nothing.
    size_t uses = 0;
    for (const protozero::data_view& sample : tables_.samples) uses += sample.size();
    sequences_.frames.reserve(std::min(uses, most_frames_));
    sequences_.ends.reserve(tables_.samples.size());
    for (const protozero::data_view& sample : tables_.samples) add_sample(Message<SampleField>(sample));
    model::Profile profile = std::move(assembler_).finish();
    // Until here rows named the sequence of their frames.
    const std::vector<model::StackId> stacks = add_stacks(profile.stacks, sequences_);
    for (model::StackId& stack : profile.samples.stack) stack = stacks[stack.value];
    return profile;
  }

 private:
  // Each use of a location is a frame, and one for each function inlined there: many, in a file that means harm.
  static constexpr size_t kFewFrames = size_t{1} << 20;
  static constexpr size_t kMostFrames = UINT32_MAX - 1;

  // Which of a sample's values are the count and the value of an event.
  struct Event {
    model::EventId id;
    std::optional<size_t> count;
    size_t value;
  };
  // What a location stands for: outer before inner. None: a place without names, `first` of these.
  struct Frames {
    uint32_t first = 0;
    uint32_t count = 0;
  };
  // The address of a caller is that of its call. Code without a name is called by its address, and that should be the
  // one which a recording has of it: where the call returns to.
  struct Place {
    model::Frame frame;
    std::optional<model::FrameId> leaf;
    std::optional<model::FrameId> caller;
  };

  // However often a text is named, it is read once.
  model::StringId text(uint64_t id) {
    const std::string_view text = tables_.text(id);
    std::optional<model::StringId>& known = texts_[id];
    if (!known) known = assembler_.string(text);
    return *known;
  }

  std::string_view unit(uint64_t id) const {
    const std::string_view unit = tables_.text(id);
    for (const auto& [ours, theirs] : kUnits) {
      if (unit == theirs) return ours;
    }
    return unit;
  }

  std::string_view type(size_t index) const { return tables_.text(tables_.types[index].type); }
  bool counts(size_t index) const { return tables_.text(tables_.types[index].unit) == model::kCountUnit; }

  void add_events() {
    std::vector<NamedType> types;
    for (const ValueType& each : tables_.types) types.push_back({tables_.text(each.type), tables_.text(each.unit)});
    const std::string_view wanted = tables_.text(tables_.default_type);
    std::string& shown = assembler_.facts().default_event;
    for (size_t i = 0; i < tables_.types.size(); ++i) {
      const bool pair = is_pair(types, i);
      const size_t value = pair ? i + 1 : i;
      model::Event event{
          text(tables_.types[value].type), assembler_.string(unit(tables_.types[value].unit)), {}, false};
      // Samples are what is counted unless something else is named.
      if (pair && !counts_samples_of(type(i), type(value))) event.counted = text(tables_.types[i].type);
      event.uncounted = !pair && !counts(i);
      add_event(event, pair || counts(i) ? std::optional(i) : std::nullopt, value);
      if (!wanted.empty() && (wanted == type(i) || wanted == type(value))) shown = wanted;
      i = value;
    }
    // As pprof does: unless it says so, the last type is what to look at first.
    if (shown.empty()) shown = type(tables_.types.size() - 1);
  }

  void add_event(const model::Event& event, std::optional<size_t> count, size_t value) {
    const model::EventId id = assembler_.event(event);
    if (id.value != events_.size()) {
      throw Malformed{type(value).empty() ? "two of its types of value have no name"
                                          : fmt::format("two of its types of value are {}", type(value))};
    }
    events_.push_back({id, count, value});
  }

  void add_facts() {
    model::RecordingFacts& facts = assembler_.facts();
    facts.format = "pprof";
    facts.engine = model::kEngineImported;
    facts.started_unix_ns = tables_.time;
    facts.duration_ns = tables_.duration;
    facts.drop_frames = tables_.text(tables_.drop_frames);
    facts.keep_frames = tables_.text(tables_.keep_frames);
    facts.period = {std::string(tables_.text(tables_.period_type.type)), std::string(unit(tables_.period_type.unit)),
                    tables_.period};
    for (const uint64_t comment : tables_.comments) facts.comments.emplace_back(tables_.text(comment));
  }

  void add_file_mapping(uint64_t id, const Tables::Mapping& from) {
    const auto build_id = model::BuildId::from_hex(tables_.text(from.build_id)).value_or(model::BuildId());
    mappings_[id] = add_mapping(assembler_, {tables_.text(from.file), from.start, from.limit, from.offset, build_id});
  }

  // The frame but for its function: where the code is.
  model::Frame place_of(const Tables::Location& location) {
    if (location.mapping == 0) return {.mapping = none_, .address = location.address};
    const auto found = mappings_.find(location.mapping);
    if (found == mappings_.end()) throw Malformed{fmt::format("there is no mapping {}", location.mapping)};
    return {.mapping = found->second,
            .address = frame_address(assembler_.so_far().mappings[found->second], location.address)};
  }

  void add_location(const Tables::Location& location) {
    const auto first = static_cast<uint32_t>(frames_.size());
    model::Frame frame = place_of(location);
    // The last line is the outermost, into which the others are inlined.
    for (size_t left = location.lines.size(); left > 0; --left) {
      const Tables::Line& line = location.lines[left - 1];
      frame.inlined = left < location.lines.size();
      frame.line = static_cast<uint32_t>(line.line);
      set_function(line.function, frame);
      frames_.push_back(assembler_.frame(frame));
    }
    if (location.lines.empty()) {
      locations_.add(location.id, {static_cast<uint32_t>(places_.size()), 0});
      places_.push_back({frame, {}, {}});
    } else {
      locations_.add(location.id, {first, static_cast<uint32_t>(frames_.size()) - first});
    }
  }

  model::FrameId frame_of(Place& place, bool is_leaf) {
    std::optional<model::FrameId>& known = is_leaf ? place.leaf : place.caller;
    if (known) return *known;
    model::Frame frame = place.frame;
    if (!is_leaf && frame.mapping != none_) {
      ++frame.address;
      frame.kind = model::AddressKind::kReturn;
    }
    return *(known = assembler_.frame(frame));
  }

  void set_function(uint64_t id, model::Frame& frame) {
    const Tables::Function* function = tables_.functions.find(id);
    if (function == nullptr) throw Malformed{fmt::format("there is no function {}", id)};
    model::Function row{text(function->name), text(function->system_name), true,
                        static_cast<uint32_t>(function->start_line)};
    if (!row.name) row.name = row.system_name;
    // What was written for want of a name and of an address.
    row.named = !tables_.text(function->name).starts_with(kUnknown);
    frame.file = text(function->file);
    // One without a name is left to be looked up.
    frame.function = row.name ? assembler_.function(row) : model::FunctionId{};
  }

  // A label of a sample; those that say whose it is go to `thread`.
  void add_label(Message<LabelField> message, model::Thread& thread) {
    uint64_t key = 0, str = 0, unit_name = 0;
    int64_t amount = 0;
    while (message.next()) {
      switch (message.tag()) {
        case LabelField::kKey:
          key = number(message);
          break;
        case LabelField::kText:
          str = number(message);
          break;
        case LabelField::kNumber:
          amount = static_cast<int64_t>(number(message));
          break;
        case LabelField::kUnit:
          unit_name = number(message);
          break;
        default:
          message.skip();
      }
    }
    const model::Label label{text(key), text(str), amount, text(unit_name)};
    if (!tells_thread(label, thread)) labels_.push_back(label);
  }

  bool tells_thread(const model::Label& label, model::Thread& thread) const {
    const std::string_view key = assembler_.so_far().text(label.key);
    const bool is_id = !label.text && !label.unit && label.number >= 0 && label.number <= INT32_MAX;
    if (key == kPidLabel && is_id && thread.pid < 0) {
      thread.pid = static_cast<int32_t>(label.number);
    } else if (key == kTidLabel && is_id && thread.tid < 0) {
      thread.tid = static_cast<int32_t>(label.number);
    } else if (key == kCommLabel && label.text && label.number == 0 && !label.unit && !thread.comm) {
      thread.comm = label.text;
    } else {
      return false;
    }
    return true;
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
          add_label(part(message), thread);
          break;
        default:
          message.skip();
      }
    }
    if (values_.size() != tables_.types.size()) {
      throw Malformed{fmt::format("a sample has {} values, not {}", values_.size(), tables_.types.size())};
    }
    add_frames();
    add_rows(model::StackId{sequences_.close()}, thread_id(thread), label_set());
  }

  // Samples of one thread mostly follow each other.
  model::ThreadId thread_id(const model::Thread& thread) {
    if (!last_thread_ || assembler_.so_far().threads[*last_thread_] != thread) last_thread_ = assembler_.thread(thread);
    return *last_thread_;
  }

  model::LabelSetId label_set() { return labels_.empty() ? model::LabelSetId{} : assembler_.labels(labels_); }

  void add_frames() {
    for (size_t left = ids_.size(); left > 0; --left) {
      const Frames* frames = locations_.find(ids_[left - 1]);
      if (frames == nullptr) throw Malformed{fmt::format("there is no location {}", ids_[left - 1])};
      const auto begin = frames_.begin() + (frames->count == 0 ? 0 : frames->first);
      sequences_.frames.insert(sequences_.frames.end(), begin, begin + frames->count);
      if (frames->count == 0) sequences_.frames.push_back(frame_of(places_[frames->first], left == 1));
      if (sequences_.frames.size() > most_frames_) throw Malformed{"its stacks are longer than its size allows"};
    }
  }

  void add_rows(model::StackId stack, model::ThreadId thread, model::LabelSetId labels) {
    bool any = false;
    for (const Event& event : events_) {
      const uint64_t value = values_[event.value];
      const uint64_t count = event.count ? values_[*event.count] : 1;
      // A sample of nothing at all is kept as one of the last event: it may say what was looked at.
      const bool last = &event == &events_.back();
      if (value == 0 && (count == 0 || !event.count) && !(last && !any)) continue;
      if (value > INT64_MAX || count > INT64_MAX) {
        throw Malformed{"it holds negative values: it is the difference of two profiles"};
      }
      any = true;
      const bool nothing = value == 0 && !event.count;
      assembler_.sample({.stack = stack,
                         .event = event.id,
                         .thread = thread,
                         .count = nothing ? 0 : count,
                         .value = value,
                         .labels = labels});
    }
  }

  const Tables& tables_;
  const size_t most_frames_;
  model::ProfileAssembler assembler_;
  std::vector<std::optional<model::StringId>> texts_ =
      std::vector<std::optional<model::StringId>>(tables_.texts.size());
  model::MappingId none_;
  std::vector<Event> events_;
  std::unordered_map<uint64_t, model::MappingId, base::NumberHash> mappings_;
  std::vector<model::FrameId> frames_;
  std::vector<Place> places_;
  Numbered<Frames> locations_;
  FrameSequences sequences_;
  std::optional<model::ThreadId> last_thread_;
  // Of the sample at hand.
  std::vector<uint64_t> ids_;
  std::vector<uint64_t> values_;
  std::vector<model::Label> labels_;
};

base::Result<model::Profile> read(base::Bytes bytes) {
  try {
    const Tables tables = read_tables(bytes);
    return Reader(tables, bytes.size()).read();
  } catch (const Malformed& malformed) {
    return base::failed("cannot read", "", malformed.why);
  } catch (const protobuf::OtherType& error) {
    return base::failed("cannot read", "", error.why);
  } catch (const protozero::end_of_buffer_exception&) {
    return base::failed("cannot read", "", "it is cut off");
  } catch (const protozero::exception& error) {
    return base::failed("cannot read", "", fmt::format("it is damaged ({})", error.what()));
  }
}

// Whether a field of profile.proto is written like this.
bool is_field(ProfileField field, protozero::pbf_wire_type type) {
  const auto tag = static_cast<uint32_t>(field);
  constexpr uint32_t kLast = 16;  // room for a field to come
  const bool is_message = (tag <= static_cast<uint32_t>(ProfileField::kString)) || field == ProfileField::kPeriodType;
  if (tag > kLast) return false;
  if (is_message) return type == protozero::pbf_wire_type::length_delimited;
  const bool is_list = field == ProfileField::kComment || tag == kLast;
  return type == protozero::pbf_wire_type::varint || (is_list && type == protozero::pbf_wire_type::length_delimited);
}

// Whether it begins with a type of values, as most writers have it: two numbers of texts, which no text looks like.
bool begins_with_type(base::Bytes bytes) {
  Message<ProfileField> message(view_of(bytes));
  if (!message.next() || message.tag() != ProfileField::kSampleType ||
      !message.has_wire_type(protozero::pbf_wire_type::length_delimited)) {
    return false;
  }
  size_t numbers = 0;
  for (Message<ValueTypeField> type(message.get_view()); type.next(); ++numbers) {
    const bool known = type.tag() == ValueTypeField::kType || type.tag() == ValueTypeField::kUnit;
    if (!known || !type.has_wire_type(protozero::pbf_wire_type::varint)) return false;
    type.skip();
  }
  return numbers > 0;
}

std::string refusal_of_beginning(base::Bytes bytes) {
  constexpr int kFields = 64;
  Message<ProfileField> message(view_of(bytes));
  for (int i = 0; i < kFields && message.next(); ++i) {
    if (!is_field(message.tag(), message.wire_type())) {
      return fmt::format("profile.proto has no such field {}", static_cast<uint32_t>(message.tag()));
    }
    message.skip();
  }
  return {};
}

// It has no signature: the fields of its beginning must be those of a profile. One that is cut off there is taken, for
// reading it to say so.
std::string refusal(base::Bytes bytes) {
  constexpr std::string_view kOther = "it is no protocol buffer";
  try {
    return refusal_of_beginning(bytes);
  } catch (const protozero::end_of_buffer_exception&) {
  } catch (const protozero::exception&) {
    return std::string(kOther);
  }
  try {
    return begins_with_type(bytes) ? std::string() : std::string(kOther);
  } catch (const protozero::exception&) {
    return std::string(kOther);
  }
}

}  // namespace

bool ends_within_first_fields_of_pprof(base::Bytes beginning) {
  try {
    refusal_of_beginning(beginning);
  } catch (const protozero::end_of_buffer_exception&) {
    return true;
  } catch (const protozero::exception&) {
  }
  return false;
}

const Format kPprof{
    .name = "pprof",
    .summary = "profile.proto of pprof, Go, Parca and Pyroscope",
    .endings = ".pb.gz .pprof .pb",
    .refusal = refusal,
    .read = read,
    .write = write_pprof,
};

}  // namespace tephra::formats
