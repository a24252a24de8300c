#include "stream/sched_events.h"

#include <linux/perf_event.h>

#include <algorithm>

#include "stream/profile_builder.h"

namespace tephra::stream {
namespace {

using Kind = SchedEvents::Kind;

struct KnownEvent {
  std::string_view name;
  Kind kind;
  std::array<std::string_view, 5> fields;  // those that are read, in the order in which Reader::places holds them
  size_t needed;                           // so many of them must be there
};

constexpr KnownEvent kKnown[] = {
    {"sched:sched_switch", Kind::kSwitch, {"prev_pid", "next_pid", "prev_state", "prev_comm", "next_comm"}, 3},
    {"sched:sched_waking", Kind::kWaking, {"pid", "comm", "target_cpu"}, 1},
    {"sched:sched_wakeup", Kind::kWakeup, {"pid", "comm", "target_cpu"}, 1},
    {"sched:sched_wakeup_new", Kind::kWakeupNew, {"pid", "comm", "target_cpu"}, 1},
    {"sched:sched_migrate_task", Kind::kMigrate, {"pid", "orig_cpu", "dest_cpu", "comm"}, 3},
    {"sched:sched_stat_runtime", Kind::kRuntime, {"pid", "runtime", "comm"}, 2},
    {"sched:sched_process_fork", Kind::kFork, {"parent_pid", "child_pid", "child_comm"}, 2},
    {"sched:sched_process_exit", Kind::kExit, {"pid", "comm"}, 1},
    {"irq:irq_handler_entry", Kind::kIrqEntry, {"irq", "name"}, 1},
    {"irq:irq_handler_exit", Kind::kIrqExit, {"irq"}, 1},
    {"irq:softirq_entry", Kind::kSoftEntry, {"vec"}, 1},
    {"irq:softirq_exit", Kind::kSoftExit, {"vec"}, 1},
};

// As the kernel prints them (include/linux/interrupt.h); the numbers have not changed since 4.0.
constexpr std::string_view kSoftInterrupts[] = {"HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
                                                "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};

// The states of kernels since 4.14, for recordings whose description does not tell.
constexpr std::pair<uint64_t, char> kUsualStates[] = {{0x01, 'S'}, {0x02, 'D'}, {0x04, 'T'}, {0x08, 't'},
                                                      {0x10, 'X'}, {0x20, 'Z'}, {0x40, 'P'}, {0x80, 'I'}};

using MaybePlace = std::optional<TracepointPlaces::Place>;

std::optional<int64_t> number(const MaybePlace& place, base::Bytes raw) {
  return place ? place->number(raw) : std::nullopt;
}

std::optional<int32_t> small_number(const MaybePlace& place, base::Bytes raw) {
  const auto value = number(place, raw);
  if (!value || *value < INT32_MIN || *value > INT32_MAX) return {};
  return static_cast<int32_t>(*value);
}

std::string_view text(const MaybePlace& place, base::Bytes raw) {
  return place ? place->text(raw) : std::string_view();
}

// "local_timer" of "irq_vectors:local_timer_entry", with whether it is the entry; none for other events.
std::optional<std::pair<std::string, bool>> vector_of(std::string_view name) {
  constexpr std::string_view kGroup = "irq_vectors:";
  if (name.substr(0, kGroup.size()) != kGroup) return {};
  name.remove_prefix(kGroup.size());
  for (const bool entry : {true, false}) {
    const std::string_view end = entry ? "_entry" : "_exit";
    if (name.size() > end.size() && name.substr(name.size() - end.size()) == end) {
      return std::pair(std::string(name.substr(0, name.size() - end.size())), entry);
    }
  }
  return {};
}

std::string_view soft_interrupt_name(int32_t number) {
  const auto at = static_cast<size_t>(number);
  return number >= 0 && at < std::size(kSoftInterrupts) ? kSoftInterrupts[at] : std::string_view("other");
}

std::string names_of(const Recording& recording) {
  std::string names;
  for (const RecordedEvent& event : recording.events) {
    if (!names.empty()) names += ", ";
    names += event.name;
    if (names.size() > 200) return names + " …";
  }
  return names;
}

base::Error no_switches(const Recording& recording) {
  const auto& events = recording.events;
  const bool named = std::any_of(events.begin(), events.end(),
                                 [](const RecordedEvent& event) { return event.name == "sched:sched_switch"; });
  const std::string recorded = names_of(recording);
  std::string why;
  const bool tracepoints = std::any_of(events.begin(), events.end(), [](const RecordedEvent& event) {
    return event.layout.type == PERF_TYPE_TRACEPOINT;
  });
  if (tracepoints && !named && recording.tracing_data.empty()) {
    why = "its tracepoints are not described; the file may be cut";
  } else if (named) {
    why = "what its sched:sched_switch samples say was not recorded, or not described";
  } else if (!recorded.empty()) {
    why = "sched:sched_switch is needed, and it has " + recorded;
  }
  return base::failed("no scheduler events in the recording", "", why,
                      "Record with 'tephra sched record' or 'perf sched record'.");
}

}  // namespace

base::Result<SchedEvents> SchedEvents::of(const Recording& recording) {
  const auto described = TracepointPlaces::parse(recording.tracing_data);
  if (!described) return described.error();
  SchedEvents events;
  for (const RecordedEvent& event : recording.events) {
    const bool readable = event.layout.type == PERF_TYPE_TRACEPOINT && (event.layout.sample_type & PERF_SAMPLE_RAW);
    events.add(*described, readable ? event.layout.config : UINT64_MAX);
  }
  if (!events.has(Kind::kSwitch)) return no_switches(recording);
  return events;
}

void SchedEvents::add(const TracepointPlaces& described, uint64_t id) {
  Reader& reader = readers_.emplace_back();
  const std::string_view name = described.name(id);
  if (const auto vector = vector_of(name)) {
    reader.kind = vector->second ? Kind::kVectorEntry : Kind::kVectorExit;
    reader.name = vector->first;
    reader.places[0] = described.place(id, "vector");
  }
  for (const KnownEvent& known : kKnown) {
    if (known.name != name) continue;
    size_t found = 0;
    for (size_t at = 0; at < known.fields.size(); ++at) {
      if (known.fields[at].empty()) continue;
      reader.places[at] = described.place(id, known.fields[at]);
      if (reader.places[at] && at < known.needed) ++found;
    }
    if (found == known.needed) reader.kind = known.kind;
  }
  if (reader.kind == Kind::kOther) return;
  if (reader.kind == Kind::kSwitch) learn_states(described, id);
  recorded_[static_cast<size_t>(reader.kind)] = true;
}

void SchedEvents::learn_states(const TracepointPlaces& described, uint64_t id) {
  states_.clear();
  for (const auto& [value, letter] : described.printed_flags(id)) {
    if (value != 0 && letter.size() == 1) states_.emplace_back(value, letter[0]);
  }
  if (states_.empty()) states_.assign(std::begin(kUsualStates), std::end(kUsualStates));
  std::sort(states_.begin(), states_.end());
  // The kernel puts the mark of preemption above all states.
  preempted_bit_ = states_.back().first << 1;
}

SchedState SchedEvents::state_of(uint64_t raw) const {
  for (const auto& [bit, letter] : states_) {
    if (raw & bit) return {letter, false};
  }
  return {'R', (raw & preempted_bit_) != 0};
}

SchedEvent SchedEvents::read_switch(const Reader& reader, base::Bytes raw) const {
  const auto& [previous_tid, next_tid, state, previous_comm, next_comm] = reader.places;
  const auto previous = small_number(previous_tid, raw);
  const auto next = small_number(next_tid, raw);
  const auto raw_state = number(state, raw);
  if (!previous || !next || !raw_state || *previous < 0 || *next < 0) return {};
  const auto bits = static_cast<uint64_t>(*raw_state);
  return SchedSwitch{{*previous, text(previous_comm, raw)}, {*next, text(next_comm, raw)}, state_of(bits), bits};
}

SchedEvent SchedEvents::read_wakeup(const Reader& reader, base::Bytes raw) {
  const auto tid = small_number(reader.places[0], raw);
  if (!tid || *tid < 0) return {};
  const auto kind = reader.kind == Kind::kWaking   ? SchedWakeup::Kind::kWaking
                    : reader.kind == Kind::kWakeup ? SchedWakeup::Kind::kWakeup
                                                   : SchedWakeup::Kind::kNew;
  return SchedWakeup{kind, {*tid, text(reader.places[1], raw)}, small_number(reader.places[2], raw).value_or(-1)};
}

SchedEvent SchedEvents::read_task(const Reader& reader, base::Bytes raw) {
  const auto& places = reader.places;
  const auto tid = small_number(places[0], raw);
  if (!tid || *tid < 0) return {};
  if (reader.kind == Kind::kExit) return SchedExit{{*tid, text(places[1], raw)}};
  if (reader.kind == Kind::kRuntime) {
    const auto time = number(places[1], raw);
    if (!time) return {};
    return SchedRuntime{{*tid, text(places[2], raw)}, static_cast<uint64_t>(*time)};
  }
  const auto second = small_number(places[1], raw);
  if (!second || *second < 0) return {};
  if (reader.kind == Kind::kFork) return SchedFork{*tid, {*second, text(places[2], raw)}};
  const auto to = small_number(places[2], raw);
  if (!to) return {};
  return SchedMigration{{*tid, text(places[3], raw)}, *second, *to};
}

SchedEvent SchedEvents::read_interrupt(const Reader& reader, base::Bytes raw) {
  const int32_t number = small_number(reader.places[0], raw).value_or(-1);
  switch (reader.kind) {
    case Kind::kIrqEntry:
      return Interrupt{InterruptKind::kHard, true, number, text(reader.places[1], raw)};
    case Kind::kIrqExit:
      return Interrupt{InterruptKind::kHard, false, number, {}};
    case Kind::kSoftEntry:
      return Interrupt{InterruptKind::kSoft, true, number, soft_interrupt_name(number)};
    case Kind::kSoftExit:
      return Interrupt{InterruptKind::kSoft, false, number, soft_interrupt_name(number)};
    case Kind::kVectorEntry:
      return Interrupt{InterruptKind::kVector, true, number, reader.name};
    case Kind::kVectorExit:
      return Interrupt{InterruptKind::kVector, false, number, reader.name};
    default:
      return {};
  }
}

SchedEvent SchedEvents::read(const Sample& sample) const {
  if (sample.origin.event >= readers_.size()) return {};
  const Reader& reader = readers_[sample.origin.event];
  switch (reader.kind) {
    case Kind::kOther:
      return {};
    case Kind::kSwitch:
      return read_switch(reader, sample.raw);
    case Kind::kWaking:
    case Kind::kWakeup:
    case Kind::kWakeupNew:
      return read_wakeup(reader, sample.raw);
    case Kind::kMigrate:
    case Kind::kRuntime:
    case Kind::kFork:
    case Kind::kExit:
      return read_task(reader, sample.raw);
    default:
      return read_interrupt(reader, sample.raw);
  }
}

void for_each_sched_event(const Recording& recording, const SchedEvents& events,
                          const std::function<void(const Sample&, const SchedEvent&)>& visit) {
  for_each_sample(recording, {}, [&](const Sample& sample) {
    const SchedEvent event = events.read(sample);
    if (event.index() != 0) visit(sample, event);
  });
}

}  // namespace tephra::stream
