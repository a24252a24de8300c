#include "formats/filtered_profile.h"

#include <algorithm>
#include <vector>

#include "model/counted_event.h"
#include "stream/converted_facts.h"

namespace tephra::formats {
namespace {

using model::Profile;
using stream::SampleFilter;

template <class Values, class Value>
bool takes(const Values& wanted, const Value& value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

base::Status check(const Profile& profile, const SampleFilter& filter) {
  const auto lacks = [](const char* what, const char* option) {
    return base::failed("cannot read", "", std::string("it does not say ") + what,
                        std::string("Leave out ") + option + ".");
  };
  const auto any_thread = [&](auto holds) {
    return std::any_of(profile.threads.begin(), profile.threads.end(), holds);
  };
  if (profile.samples.size() == 0) return {};
  if (!filter.cpus.empty() && profile.samples.cpu.empty()) return lacks("on which CPU its samples were taken", "--cpu");
  if ((filter.begin_time != 0 || filter.end_time != UINT64_MAX) && profile.samples.time.empty()) {
    return lacks("when its samples were taken", "--time");
  }
  if (!filter.pids.empty() && !any_thread([](const model::Thread& thread) { return thread.pid >= 0; })) {
    return lacks("of which processes its samples are", "--pid");
  }
  if (!filter.tids.empty() && !any_thread([](const model::Thread& thread) { return thread.tid >= 0; })) {
    return lacks("of which threads its samples are", "--tid");
  }
  return {};
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

// Keeps the rows that are listed, in a column that may be absent.
template <class Value>
void keep(const std::vector<size_t>& rows, std::vector<Value>& column) {
  if (column.empty()) return;
  for (size_t i = 0; i < rows.size(); ++i) column[i] = column[rows[i]];
  column.resize(rows.size());
}

}  // namespace

base::Result<Profile> filtered(Profile profile, const SampleFilter& filter) {
  TEPHRA_CHECK_OK(check(profile, filter));
  // What is asked for may be the count beside a value.
  for (const std::string& name : filter.events) {
    const auto event = model::event_counted_as(profile, name);
    if (event) profile = model::weighed_by_count(std::move(profile), *event, name);
  }
  std::vector<size_t> rows;
  for (size_t row = 0; row < profile.samples.size(); ++row) {
    if (takes_row(profile, filter, row)) rows.push_back(row);
  }
  if (rows.size() == profile.samples.size()) return profile;
  const uint64_t all = model::totals(profile).count;
  model::Samples& samples = profile.samples;
  keep(rows, samples.stack);
  keep(rows, samples.event);
  keep(rows, samples.thread);
  keep(rows, samples.count);
  keep(rows, samples.value);
  keep(rows, samples.time);
  keep(rows, samples.cpu);
  keep(rows, samples.labels);
  keep(rows, samples.walk_end);
  profile.quality = stream::share_of(profile.quality, {model::totals(profile).count, all});
  return profile;
}

}  // namespace tephra::formats
