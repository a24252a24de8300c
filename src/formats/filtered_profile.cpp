#include "formats/filtered_profile.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "model/counted_event.h"
#include "model/kept_samples.h"
#include "stream/converted_facts.h"

namespace tephra::formats {
namespace {

using model::Profile;
using stream::SampleFilter;

template <class Values, class Value>
bool takes(const Values& wanted, const Value& value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

base::Error lacks(const char* what, const char* option) {
  return base::failed("cannot read", "", std::string("it does not say ") + what,
                      std::string("Leave out ") + option + ".");
}

base::Error lacks_cpus() { return lacks("on which CPU its samples were taken", "--cpu"); }
base::Error lacks_times() { return lacks("when its samples were taken", "--time"); }
base::Error lacks_processes() { return lacks("of which processes its samples are", "--pid"); }
base::Error lacks_threads() { return lacks("of which threads its samples are", "--tid"); }
base::Error lacks_comms() { return lacks("what the threads of its samples are called", "--comm"); }

bool asks_for_times(const SampleFilter& filter) { return filter.begin_time != 0 || filter.end_time != UINT64_MAX; }
bool asks_for_tasks(const SampleFilter& filter) {
  return !filter.pids.empty() || !filter.tids.empty() || !filter.comms.empty();
}

base::Status check(const Profile& profile, const SampleFilter& filter) {
  if (profile.samples.size() == 0) return {};
  if (!filter.cpus.empty() && profile.samples.cpu.empty()) return lacks_cpus();
  if (asks_for_times(filter) && profile.samples.time.empty()) return lacks_times();
  return check_tasks(profile, filter);
}

// What any sample of the events that the filter takes says of itself, as bits PERF_SAMPLE_*.
uint64_t told_by_samples(const stream::Recording& recording, const SampleFilter& filter) {
  uint64_t told = 0;
  for (const stream::RecordedEvent& event : recording.events) {
    // A dummy event carries records about processes, never samples.
    if (takes(filter.events, event.name) && !event.name.starts_with("dummy")) told |= event.layout.sample_type;
  }
  return told;
}

base::Status check(const stream::Recording& recording, const SampleFilter& filter) {
  const uint64_t told = told_by_samples(recording, filter);
  if (told == 0) return {};
  if (!filter.cpus.empty() && (told & PERF_SAMPLE_CPU) == 0) return lacks_cpus();
  if (asks_for_times(filter) && (told & PERF_SAMPLE_TIME) == 0) return lacks_times();
  return {};
}

// A tracepoint has the name of a system before its own; what stands behind the colon of a counter are letters that
// narrow it.
bool is_tracepoint(std::string_view name) {
  const size_t colon = name.find(':');
  return colon != std::string_view::npos && name.find_first_not_of("ukhGHpPSDWeIb:", colon) != std::string_view::npos;
}

// As in recordings: time of the idle task is idle, a tracepoint that it hits is an event like any other.
bool is_idle(const Profile& profile, size_t row) {
  const model::Thread& thread = profile.threads[profile.samples.thread[row]];
  const std::string_view comm = profile.text(thread.comm);
  const bool swapper = comm == "swapper" || comm.starts_with("swapper/");
  return swapper && thread.pid <= 0 && thread.tid <= 0 &&
         !is_tracepoint(profile.text(profile.events[profile.samples.event[row]].name));
}

bool takes_row(const Profile& profile, const SampleFilter& filter, size_t row) {
  const model::Samples& samples = profile.samples;
  const model::Thread& thread = profile.threads[samples.thread[row]];
  const bool in_time =
      samples.time.empty() || (samples.time[row] >= filter.begin_time && samples.time[row] <= filter.end_time);
  return in_time && takes(filter.pids, thread.pid) && takes(filter.tids, thread.tid) &&
         takes(filter.comms, profile.text(thread.comm)) &&
         takes(filter.events, profile.text(profile.events[samples.event[row]].name)) &&
         (filter.cpus.empty() || takes(filter.cpus, samples.cpu[row]));
}

}  // namespace

base::Status check_tasks(const Profile& profile, const SampleFilter& filter) {
  const auto any_thread = [&](auto holds) {
    return std::any_of(profile.threads.begin(), profile.threads.end(), holds);
  };
  if (profile.samples.size() == 0) return {};
  if (!filter.pids.empty() && !any_thread([](const model::Thread& thread) { return thread.pid >= 0; })) {
    return lacks_processes();
  }
  if (!filter.tids.empty() && !any_thread([](const model::Thread& thread) { return thread.tid >= 0; })) {
    return lacks_threads();
  }
  if (!filter.comms.empty() && !any_thread([](const model::Thread& thread) { return bool(thread.comm); })) {
    return lacks_comms();
  }
  return {};
}

base::Result<Profile> filtered(const stream::Recording& recording, const stream::BuildOptions& options) {
  TEPHRA_CHECK_OK(check(recording, options.filter));
  Profile profile = stream::build_profile(recording, options);
  if (profile.samples.size() > 0 || !asks_for_tasks(options.filter)) return profile;
  // Whether there are none of these tasks or of any, the samples of all tell.
  stream::BuildOptions all = options;
  all.filter = {.events = options.filter.events};
  all.keep_every_sample = false;
  all.unwinder = nullptr;
  TEPHRA_CHECK_OK(check_tasks(stream::build_profile(recording, all), options.filter));
  return profile;
}

base::Result<Profile> filtered(Profile profile, const SampleFilter& filter) {
  TEPHRA_CHECK_OK(check(profile, filter));
  // What is asked for may be the count beside a value.
  for (const std::string& name : filter.events) {
    const auto event = model::event_counted_as(profile, name);
    if (event) profile = model::weighed_by_count(std::move(profile), *event, name);
  }
  std::vector<char> kept(profile.samples.size(), 0);
  uint64_t idle = 0;
  for (size_t row = 0; row < profile.samples.size(); ++row) {
    if (!takes_row(profile, filter, row)) continue;
    if (!filter.keep_idle && is_idle(profile, row)) {
      idle += profile.samples.count[row];
    } else {
      kept[row] = 1;
    }
  }
  if (std::ranges::count(kept, 1) == std::ssize(kept)) return profile;
  const uint64_t all = model::totals(profile).count;
  model::keep_samples(kept, profile.samples);
  profile.quality = stream::share_of(profile.quality, {model::totals(profile).count, all});
  profile.quality.idle += idle;
  return profile;
}

}  // namespace tephra::formats
