#include "analysis/wall.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "model/kept_samples.h"
#include "stream/wait_states.h"

namespace tephra::analysis {
namespace {

// Threads are the same under each of their names.
struct Whose {
  int32_t pid = 0;
  int32_t tid = 0;
  auto operator<=>(const Whose&) const = default;
};

struct Running {
  uint64_t ran_ns = 0;
  uint64_t sampled = 0;  // the weights of its samples
  model::ThreadId thread;
  size_t first_row = 0;  // of what says how long it ran
  // While its samples are scaled: their weights so far, and what they became.
  uint64_t weights = 0;
  uint64_t scaled = 0;
};

// part / whole of `total`; exact enough for sums of nanoseconds.
uint64_t share_of(uint64_t total, uint64_t part, uint64_t whole) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(total) * part / whole);
}

class WallMaker {
 public:
  WallMaker(model::Profile& profile, const WallEvents& events) : profile_(profile), events_(events) {}

  std::optional<WallTotals> make() {
    if (!find_running()) return {};
    const size_t rows = profile_.samples.size();
    wall_ = profile_.events.add(
        {profile_.strings.add(kWallEvent), profile_.strings.add("ns"), profile_.strings.add("parts"), false});
    for (size_t row = 0; row < rows; ++row) {
      const std::string_view event = name_of(row);
      if (event == events_.cpu) add_sampled(row);
      if (event == events_.waits) add_wait(row);
    }
    for (const auto& [whose, running] : running_) {
      if (running.sampled == 0 && running.ran_ns > 0) add_not_sampled(running);
    }
    totals_.threads = threads_.size();
    if (profile_.facts.default_event.empty()) profile_.facts.default_event = kWallEvent;
    return totals_;
  }

 private:
  std::string_view name_of(size_t row) const {
    return profile_.text(profile_.events[profile_.samples.event[row]].name);
  }
  Whose whose(size_t row) const {
    const model::Thread& thread = profile_.threads[profile_.samples.thread[row]];
    return {thread.pid, thread.tid};
  }

  bool find_running() {
    bool found = false;
    for (size_t row = 0; row < profile_.samples.size(); ++row) {
      const std::string_view event = name_of(row);
      if (event == events_.waits) found = true;
      if (event == events_.cpu) running_[whose(row)].sampled += profile_.samples.value[row];
      if (event != events_.run_time) continue;
      Running& running = running_[whose(row)];
      if (running.ran_ns == 0) running.first_row = row;
      running.ran_ns += profile_.samples.value[row];
      running.thread = profile_.samples.thread[row];
      found = true;
    }
    return found;
  }

  // A row like another one, of the new event.
  void add_like(size_t row, model::StackId stack, uint64_t count, uint64_t value) {
    model::Samples& samples = profile_.samples;
    samples.stack.push_back(stack);
    samples.event.push_back(wall_);
    samples.thread.push_back(samples.thread[row]);
    samples.count.push_back(count);
    samples.value.push_back(value);
    if (!samples.time.empty()) samples.time.push_back(samples.time[row]);
    if (!samples.cpu.empty()) samples.cpu.push_back(samples.cpu[row]);
    if (!samples.labels.empty()) samples.labels.push_back(samples.labels[row]);
    if (!samples.walk_end.empty()) samples.walk_end.push_back(samples.walk_end[row]);
    threads_.insert(whose(row));
  }

  void add_sampled(size_t row) {
    Running& running = running_[whose(row)];
    if (running.ran_ns == 0 || running.sampled == 0) return;
    // What it comes to so far, less what was given: so all of it together is exact.
    running.weights += profile_.samples.value[row];
    const uint64_t so_far = share_of(running.ran_ns, running.weights, running.sampled);
    const uint64_t value = so_far - running.scaled;
    running.scaled = so_far;
    totals_.running_ns += value;
    add_like(row, profile_.samples.stack[row], profile_.samples.count[row], value);
  }

  void add_wait(size_t row) {
    const uint64_t value = profile_.samples.value[row];
    totals_.waiting_ns += value;
    add_like(row, profile_.samples.stack[row], profile_.samples.count[row], value);
  }

  void add_not_sampled(const Running& running) {
    totals_.running_ns += running.ran_ns;
    totals_.not_sampled_ns += running.ran_ns;
    add_like(running.first_row, not_sampled(), 1, running.ran_ns);
  }

  // The stack with the one frame that stands for it.
  model::StackId not_sampled() {
    if (not_sampled_.value != 0) return not_sampled_;
    model::Function function;
    function.name = profile_.strings.add(kRunningNotSampled);
    function.system_name = function.name;
    function.named = true;
    model::Frame frame;
    frame.function = profile_.functions.add(function);
    frame.facts = model::kOutermost;
    not_sampled_ = profile_.stacks.add({model::StackId{}, profile_.frames.add(frame)});
    return not_sampled_;
  }

  model::Profile& profile_;
  const WallEvents& events_;
  model::EventId wall_{};
  model::StackId not_sampled_{};
  std::map<Whose, Running> running_;
  std::set<Whose> threads_;
  WallTotals totals_;
};

bool any(const std::vector<char>& rows) { return std::ranges::find(rows, 1) != rows.end(); }

// The part of a name before modifiers and behind a PMU: "cycles" of "cpu_core/cycles/u", "cpu-clock" of "cpu-clock:u".
std::string_view plain_name(std::string_view name) {
  if (const size_t slash = name.find('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  return name.substr(0, name.find_first_of(":/"));
}

// How well samples of an event tell where threads run: 0 not at all.
int tells_running(const model::Profile& profile, const model::Event& event) {
  constexpr std::array<std::string_view, 5> kTimes{"cpu-clock", "task-clock", "cycles", "cpu-cycles", "ref-cycles"};
  constexpr std::array<std::string_view, 7> kOthers{"context-switches", "cs",           "cpu-migrations", "page-faults",
                                                    "minor-faults",     "major-faults", "cache-misses"};
  const std::string_view name = profile.text(event.name);
  if (std::ranges::find(kTimes, plain_name(name)) != kTimes.end()) return 2;
  const bool ours = name == stream::kRunTimeEvent || name == stream::kWaitEvent || name == stream::kWakersEvent ||
                    name == kWallEvent || name.starts_with("dummy");
  const bool tracepoint = name.find(':') != std::string_view::npos && name.find(':') + 4 < name.size();
  const bool other =
      ours || tracepoint || event.counted || std::ranges::find(kOthers, plain_name(name)) != kOthers.end();
  return other ? 0 : 1;
}

std::string sampled_running(const model::Profile& profile) {
  std::vector<char> seen(profile.events.size());
  for (const model::EventId id : profile.samples.event) seen[id.value] = 1;
  int best = 0;
  std::string_view name;
  for (uint32_t i = 0; i < seen.size(); ++i) {
    const model::Event& event = profile.events[model::EventId{i}];
    const int merit = seen[i] != 0 ? tells_running(profile, event) : 0;
    if (merit <= best) continue;
    best = merit;
    name = profile.text(event.name);
  }
  return std::string(name);
}

}  // namespace

std::optional<WallEvents> wall_events(const model::Profile& profile) {
  const auto has_event = [&](std::string_view name) {
    return std::ranges::any_of(profile.events, [&](const model::Event& row) { return profile.text(row.name) == name; });
  };
  if (!has_event(stream::kRunTimeEvent) || !has_event(stream::kWaitEvent) || has_event(kWallEvent)) return {};
  const bool timed =
      any(model::samples_of(profile, stream::kRunTimeEvent)) || any(model::samples_of(profile, stream::kWaitEvent));
  if (!timed) return {};
  return WallEvents{sampled_running(profile), std::string(stream::kRunTimeEvent), std::string(stream::kWaitEvent)};
}

void keep_wall_clock(model::Profile& profile) {
  std::vector<char> kept = model::samples_of(profile, kWallEvent);
  const std::vector<char> wakers = model::samples_of(profile, stream::kWakersEvent);
  for (size_t row = 0; row < kept.size(); ++row) kept[row] = kept[row] | wakers[row];
  model::keep_samples(kept, profile.samples);
}

bool has_more_than_wall_clock(const model::Profile& profile) {
  const std::vector<char> wall = model::samples_of(profile, kWallEvent);
  return any(wall) && std::ranges::find(wall, 0) != wall.end();
}

model::Profile without_wall_clock(model::Profile profile) {
  std::vector<char> kept = model::samples_of(profile, kWallEvent);
  for (char& row : kept) row = row == 0;
  model::keep_samples(kept, profile.samples);
  return profile;
}

std::optional<WallTotals> add_wall_clock(model::Profile& profile, const WallEvents& events) {
  return WallMaker(profile, events).make();
}

}  // namespace tephra::analysis
