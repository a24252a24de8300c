#include "formats/speedscope.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "base/json_tape.h"
#include "formats/json_profile.h"
#include "formats/sample_groups.h"
#include "formats/speedscope_writer.h"
#include "model/profile_assembler.h"

namespace tephra::formats {
namespace {

using base::Json;
using base::JsonTape;
using model::Reason;

// What numbers of a unit are here: an event of that unit, and how much one is in it.
struct Unit {
  std::string_view name;
  std::string_view event;
  std::string_view unit;
  double scale;
  bool is_time() const { return unit == "ns"; }
};
constexpr std::array<Unit, 6> kUnits{{
    {"none", "samples", "samples", 1},
    {"nanoseconds", "time", "ns", 1},
    {"microseconds", "time", "ns", 1e3},
    {"milliseconds", "time", "ns", 1e6},
    {"seconds", "time", "ns", 1e9},
    {"bytes", "bytes", "bytes", 1},
}};

constexpr std::string_view kUnknown = "[unknown]";  // what stands for a name here
constexpr auto kLargest = static_cast<double>(kLargestNumber);

class Reader {
 public:
  explicit Reader(const Json& file) : file_(file) {}

  model::Profile read() && {
    mapping_ = assembler_.mapping({.kind = model::CodeKind::kImported});
    for (const Json frame : file_["shared"]["frames"].elements()) add_frame(frame);
    if (!file_["profiles"].is_array()) throw MalformedJson{"it has no list of profiles"};
    times_known_ = true;
    for (const Json profile : file_["profiles"].elements()) times_known_ = times_known_ && unit_of(profile).is_time();
    model::RecordingFacts& facts = assembler_.facts();
    int64_t left = file_["activeProfileIndex"].integer(-1);
    for (const Json profile : file_["profiles"].elements()) {
      const model::EventId event = add_profile(profile);
      if (left-- == 0) facts.default_event = assembler_.so_far().text(assembler_.so_far().events[event].name);
    }
    facts.format = "speedscope";
    facts.engine = model::kEngineImported;
    read_facts(file_[kOriginMember], facts);
    return std::move(assembler_).finish();
  }

 private:
  // The profile that is being read.
  struct Current {
    std::string name;
    const Unit* unit = nullptr;
    model::EventId event;
    model::ThreadId thread;
    bool count_is_weight = false;
    bool valueless = false;
    double scale = 1;    // of weights
    uint64_t time = 0;   // of what comes next
    uint64_t ticks = 1;  // of time, in one of value
  };

  void add_frame(const Json& frame) {
    std::string storage;
    const std::string_view name = frame["name"].text(storage);
    if (!frame["name"].is_text()) throw MalformedJson{fmt::format("frame {} has no name", frames_.size())};
    model::Function function{.name = assembler_.string(name), .named = !name.starts_with(kUnknown)};
    // Where the function is, not where in it execution was: frames that differ in it are other functions.
    function.start_line = static_cast<uint32_t>(std::clamp<int64_t>(frame["line"].integer(), 0, UINT32_MAX));
    const model::FunctionId id = assembler_.function(function);
    const model::StringId file = assembler_.string(frame["file"].text(storage));
    frames_.push_back(assembler_.frame({.mapping = mapping_, .function = id, .file = file}));
  }

  const Unit& unit_of(const Json& profile) const {
    const std::string name = profile["unit"].text();
    for (const Unit& unit : kUnits) {
      if (unit.name == name) return unit;
    }
    throw MalformedJson{fmt::format("there is no unit '{}'", name)};
  }

  // What it counts.
  model::EventId add_profile(const Json& profile) {
    Current current;
    current.name = profile["name"].text();
    current.unit = &unit_of(profile);
    current.scale = current.unit->scale;
    current.count_is_weight = !current.unit->is_time() && current.unit->unit != "bytes";
    model::Thread thread;
    thread.comm = assembler_.string(current.name);
    current.thread = assembler_.thread(thread);
    current.event = assembler_.event(
        {assembler_.string(current.unit->event), assembler_.string(current.unit->unit), {}, !current.count_is_weight});
    current.time = scaled(profile["startValue"], current);
    Json counts;
    if (const auto origin = SampleOrigin::read(profile[kOriginMember], assembler_)) {
      current.event = origin->event;
      current.thread = origin->thread;
      current.count_is_weight = !origin->by_value;
      current.valueless = origin->valueless;
      // Of our own making: numbers are as they were.
      current.ticks = static_cast<uint64_t>(current.scale);
      current.scale = 1;
      counts = origin->counts;
    }
    const std::string type = profile["type"].text();
    if (type == "sampled") {
      add_samples(profile, counts, current);
    } else if (type == "evented") {
      add_events(profile, current);
    } else {
      throw MalformedJson{fmt::format("profile '{}' is of the unknown type '{}'", current.name, type)};
    }
    if (current.unit->is_time()) {
      const uint64_t begin = scaled(profile["startValue"], current);
      const uint64_t end = std::max(begin, scaled(profile["endValue"], current));
      model::RecordingFacts& facts = assembler_.facts();
      facts.duration_ns = std::max(facts.duration_ns, static_cast<int64_t>((end - begin) * current.ticks));
    }
    return current.event;
  }

  // A number of the file as one of ours.
  uint64_t scaled(const Json& number, const Current& current) {
    const double value = number.number(NAN) * current.scale;
    if (!number.is_number() || !(value >= 0) || value > kLargest) {
      throw MalformedJson{fmt::format("profile '{}' holds something else than a number from zero on", current.name)};
    }
    if (current.scale == 1) {
      const int64_t whole = number.integer(-1);
      if (whole >= 0) return static_cast<uint64_t>(whole);
      ++assembler_.quality()[Reason::fractions_dropped];
      return static_cast<uint64_t>(value);
    }
    return static_cast<uint64_t>(std::llround(value));
  }

  size_t frame_index(const Json& index, const Current& current) const {
    const int64_t number = index.integer(-1);
    if (number >= 0 && static_cast<uint64_t>(number) < frames_.size()) return static_cast<size_t>(number);
    throw MalformedJson{fmt::format("profile '{}' names a frame that is not there", current.name)};
  }

  void add_row(model::StackId stack, uint64_t value, uint64_t count, const Current& current) {
    model::ProfileAssembler::Sample row{.stack = stack, .event = current.event, .thread = current.thread};
    row.count = current.count_is_weight ? value : count;
    row.value = current.valueless ? 0 : value;
    if (times_known_) row.time = current.time;
    assembler_.sample(row);
  }

  void add_samples(const Json& profile, const Json& counts, Current& current) {
    const Json samples = profile["samples"];
    const Json weights = profile["weights"];
    if (samples.size() != weights.size() || (!counts.is_null() && counts.size() != samples.size())) {
      throw MalformedJson{
          fmt::format("profile '{}' has {} samples and {} weights", current.name, samples.size(), weights.size())};
    }
    base::JsonCursor weight(weights);
    base::JsonCursor count(counts);
    for (const Json sample : samples.elements()) {
      model::StackId stack;
      for (const Json index : sample.elements()) stack = assembler_.stack(stack, frames_[frame_index(index, current)]);
      const uint64_t value = scaled(weight.next(), current);
      const int64_t stands_for = count.next().integer(1);
      if (stands_for < 0) throw MalformedJson{fmt::format("profile '{}' holds a negative count", current.name)};
      add_row(stack, value, static_cast<uint64_t>(stands_for), current);
      current.time += value * current.ticks;
    }
  }

  // Frames that open and close: between two events, the time is that of the innermost.
  void add_events(const Json& profile, Current& current) {
    std::vector<std::pair<size_t, model::StackId>> open;
    double last = -INFINITY;
    for (const Json event : profile["events"].elements()) {
      const double at = event["at"].number(NAN);
      if (!(at >= last)) throw MalformedJson{fmt::format("the events of profile '{}' are out of order", current.name)};
      last = at;
      const uint64_t now = scaled(event["at"], current);
      const model::StackId stack = open.empty() ? model::StackId{} : open.back().second;
      if (!open.empty() && now > current.time) add_row(stack, now - current.time, 1, current);
      current.time = now;
      const size_t frame = frame_index(event["frame"], current);
      const std::string type = event["type"].text();
      if (type == "O") {
        open.emplace_back(frame, assembler_.stack(stack, frames_[frame]));
      } else if (type != "C") {
        throw MalformedJson{fmt::format("profile '{}' has an event of the unknown type '{}'", current.name, type)};
      } else if (open.empty() || open.back().first != frame) {
        throw MalformedJson{
            fmt::format("the events of profile '{}' are out of order: at {} frame {} is closed, which is not the "
                        "innermost",
                        current.name, at, frame)};
      } else {
        open.pop_back();
      }
    }
    if (!open.empty()) throw MalformedJson{fmt::format("profile '{}' ends with frames that are open", current.name)};
  }

  const Json file_;
  model::ProfileAssembler assembler_;
  model::MappingId mapping_;
  std::vector<model::FrameId> frames_;
  bool times_known_ = false;
};

std::string refusal(base::Bytes bytes) { return json_refusal(bytes, JsonProfile::kSpeedscopeJson); }

base::Result<model::Profile> read(base::Bytes bytes) {
  TEPHRA_TRY(const JsonTape tape, JsonTape::parse(base::as_text(bytes)));
  try {
    return Reader(tape.root()).read();
  } catch (const MalformedJson& malformed) {
    return base::failed("cannot read", "", malformed.why);
  }
}

}  // namespace

const Format kSpeedscope{
    .name = "speedscope",
    .summary = "JSON of speedscope, evented and sampled",
    .endings = ".speedscope.json",
    .refusal = refusal,
    .read = read,
    .write = write_speedscope,
    .single_samples = true,
};

}  // namespace tephra::formats
