#include "stream/switch_reading.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "base/number_hash.h"
#include "base/units.h"
#include "model/reading_notes.h"
#include "stream/decoder.h"
#include "stream/record_pass.h"
#include "stream/recording.h"
#include "stream/switch_pairing.h"
#include "stream/tracepoint_fields.h"
#include "stream/wait_states.h"

namespace tephra::stream {
namespace {

constexpr std::string_view kSwitch = "sched:sched_switch";
// Which tell that a thread became ready to run; the first that is there does.
constexpr std::array<std::array<std::string_view, 3>, 3> kWakes{{
    {"sched:sched_wakeup"},
    {"sched:sched_waking"},
    {"sched:sched_stat_sleep", "sched:sched_stat_blocked", "sched:sched_stat_iowait"},
}};

std::optional<uint32_t> find_event(const Recording& recording, std::string_view name) {
  const auto found = std::ranges::find(recording.events, name, &RecordedEvent::name);
  if (found == recording.events.end()) return {};
  return static_cast<uint32_t>(found - recording.events.begin());
}

// Where samples say who switched to whom, or who was woken.
struct SwitchFields {
  uint32_t event = 0;
  TracepointField prev;
  TracepointField state;
  TracepointField next;

  static std::optional<SwitchFields> find(const Recording& recording, const TracepointFields& fields) {
    const auto event = find_event(recording, kSwitch);
    if (!event) return {};
    const uint64_t id = recording.events[*event].layout.config;
    const auto prev = fields.number(id, "prev_pid");
    const auto state = fields.number(id, "prev_state");
    const auto next = fields.number(id, "next_pid");
    if (!prev || !state || !next) return {};
    return SwitchFields{*event, *prev, *state, *next};
  }
};

using WakeFields = std::unordered_map<uint32_t, TracepointField, base::NumberHash>;  // by event

WakeFields find_wakes(const Recording& recording, const TracepointFields& fields) {
  WakeFields wakes;
  for (const auto& names : kWakes) {
    for (const std::string_view name : names) {
      const auto event = name.empty() ? std::nullopt : find_event(recording, name);
      const auto pid = event ? fields.number(recording.events[*event].layout.config, "pid") : std::nullopt;
      if (pid) wakes.emplace(*event, *pid);
    }
    if (!wakes.empty()) break;
  }
  return wakes;
}

// Collects the steps of a recording, and where records are missing.
class StepCollector {
 public:
  StepCollector(const Recording& recording, const SwitchFields& fields, const WakeFields& wakes)
      : decoder_(recording), fields_(fields), wakes_(wakes) {}

  void add(const Record& record, uint64_t position) {
    if (record.type == PERF_RECORD_SAMPLE) {
      if (decoder_.decode_sample(record, sample_)) add_sample(position);
      return;
    }
    const bool matters = record.type == PERF_RECORD_SWITCH || record.type == PERF_RECORD_SWITCH_CPU_WIDE ||
                         record.type == PERF_RECORD_LOST || record.type == PERF_RECORD_LOST_SAMPLES;
    if (!matters) return;
    const Event event = decoder_.decode(record);
    if (const auto* change = std::get_if<Switch>(&event)) {
      note_time(change->origin);
      if (!change->out) {
        steps_.push_back({.time = change->origin.time,
                          .position = position,
                          .seen_tid = change->origin.tid,
                          .cpu = change->origin.cpu,
                          .kind = SwitchStep::Kind::kRuns});
      }
    } else if (const auto* lost = std::get_if<Lost>(&event)) {
      add_loss(*lost);
    }
  }

  PairedSwitches pair() {
    // Where they were lost is not told.
    if (lost_samples_ > lost_records_) lost_.push_back({0, UINT64_MAX});
    return pair_switches(std::move(steps_), std::move(lost_), end_);
  }

 private:
  void add_sample(uint64_t position) {
    const Origin& origin = sample_.origin;
    note_time(origin);
    if (origin.event == fields_.event) {
      const auto prev = fields_.prev.bits(sample_.raw);
      const auto state = fields_.state.bits(sample_.raw);
      const auto next = fields_.next.bits(sample_.raw);
      if (!prev || !state || !next) return;
      steps_.push_back({origin.time, position, static_cast<int32_t>(*prev), static_cast<int32_t>(*next), origin.tid,
                        origin.cpu, static_cast<uint32_t>(*state), SwitchStep::Kind::kSwitch});
    } else if (const auto wake = wakes_.find(origin.event); wake != wakes_.end()) {
      const auto pid = wake->second.bits(sample_.raw);
      if (!pid) return;
      steps_.push_back({.time = origin.time,
                        .position = position,
                        .tid = static_cast<int32_t>(*pid),
                        .cpu = origin.cpu,
                        .kind = SwitchStep::Kind::kWake});
    }
  }

  void note_time(const Origin& origin) {
    end_ = std::max(end_, origin.time);
    last_times_[origin.cpu] = origin.time;
  }

  // Records of a CPU are in the order of time: what is missing was between the one before and the one that tells it.
  void add_loss(const Lost& lost) {
    if (lost.samples_record) {
      lost_samples_ += lost.count;
      return;
    }
    lost_records_ += lost.count;
    const auto before = last_times_.find(lost.origin.cpu);
    const bool knows_cpu = lost.origin.cpu >= 0 && lost.origin.time != 0;
    const uint64_t begin = knows_cpu && before != last_times_.end() ? before->second : 0;
    lost_.push_back({begin, lost.origin.time == 0 ? UINT64_MAX : lost.origin.time});
  }

  Decoder decoder_;
  const SwitchFields& fields_;
  const WakeFields& wakes_;
  Sample sample_;
  std::vector<SwitchStep> steps_;
  std::vector<LostSpan> lost_;
  std::unordered_map<int32_t, uint64_t, base::NumberHash> last_times_;  // by CPU
  uint64_t lost_records_ = 0;
  uint64_t lost_samples_ = 0;
  uint64_t end_ = 0;
};

class SwitchReading : public SampleReading {
 public:
  SwitchReading(uint32_t switches, uint32_t waits, std::vector<PairedWait> paired)
      : switches_(switches), waits_(waits), paired_(std::move(paired)) {
    label_sets_.push_back({});
    for (uint32_t state = 0; state < TEPHRA_WAIT_STATES; ++state) {
      label_sets_.push_back({{std::string(kStateLabel), std::string(wait_state_name(state)), 0, ""},
                             {std::string(kExtentLabel), std::string(kSingleWait), 0, ""}});
    }
  }

  bool reads(uint32_t event) const override { return event == switches_; }

  // A switch is still one, and a wait beside it.
  void read(const Sample& sample, uint64_t position, std::vector<Part>& parts) const override {
    parts.push_back({.event = switches_, .value = sample.period, .count = sample.count});
    const auto found = std::ranges::lower_bound(paired_, position, {}, &PairedWait::position);
    if (found == paired_.end() || found->position != position) return;
    parts.push_back({.event = waits_, .value = found->waited, .labels = 1 + found->state});
    if (found->queued > 0) {
      parts.push_back({.event = waits_, .value = found->queued, .labels = 1 + TEPHRA_WAIT_RUN_QUEUE});
    }
  }

  std::span<const Labels> label_sets() const override { return label_sets_; }

 private:
  uint32_t switches_;
  uint32_t waits_;
  std::vector<PairedWait> paired_;
  std::vector<Labels> label_sets_;
};

void tell(const PairedSwitches& paired, model::RecordingFacts& facts) {
  const auto note = [&](uint64_t waits, std::string_view what) {
    if (waits == 0) return;
    model::add_reading_note(kWaitEvent, fmt::format("{} {}", base::counted(waits, "wait"), what), facts);
  };
  note(paired.open, fmt::format("not over at the end, counted up to it ({})", base::duration_text(paired.open_time)));
  note(paired.across_loss,
       fmt::format("across lost records left out ({})", base::duration_text(paired.across_loss_time)));
  note(paired.half_told, "counted until woken, since when they ran again was not recorded");
  note(paired.unended, "left out, since their end was not recorded (record with -a or --switch-events)");
}

// Whether every switch was recorded, with its time.
bool are_complete(const EventLayout& layout) {
  constexpr uint64_t kNeeded = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
  return (layout.sample_type & kNeeded) == kNeeded && !layout.frequency && layout.sample_period_or_frequency <= 1;
}

}  // namespace

base::Status add_switch_reading(Recording& recording, const ReadingOptions& options) {
  const auto event = find_event(recording, kSwitch);
  // Where waits were measured while recording, they need not be found.
  if (!event || find_event(recording, kWaitEvent)) return {};
  if (!are_complete(recording.events[*event].layout)) return {};
  const TracepointFields described(recording.tracing_data);
  const auto fields = SwitchFields::find(recording, described);
  if (!fields) return {};
  const WakeFields wakes = find_wakes(recording, described);
  StepCollector steps(recording, *fields, wakes);
  for_each_record(recording, options.done_with,
                  [&](const Record& record, uint64_t position) { steps.add(record, position); });
  PairedSwitches paired = steps.pair();
  tell(paired, recording.facts);
  const uint32_t waits = add_shown_event(recording, *event, kWaitEvent, "ns", kWaitsCounted);
  recording.readings.push_back(std::make_shared<SwitchReading>(*event, waits, std::move(paired.waits)));
  return {};
}

}  // namespace tephra::stream
