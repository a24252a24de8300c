#include "collect/features.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/file.h"
#include "collect/machine_features.h"
#include "kernel/perf_event.h"
#include "kernel/tracefs.h"
#include "stream/perf_file.h"
#include "stream/put.h"

namespace tephra::collect {
namespace {

using formats::command_line_feature;
using formats::event_description_feature;
using formats::text_feature;
using stream::put;
using stream::put_text;

// Events that are counted together: for each group its first event, by place, and how many they are.
std::vector<Feature> group_description_feature(std::span<const FileEvent> events) {
  struct Group {
    uint32_t leader;
    uint32_t members;
  };
  std::vector<Group> groups;
  for (size_t at = 0; at < events.size();) {
    size_t end = at + 1;
    while (events[at].group >= 0 && end < events.size() && events[end].group == events[at].group) ++end;
    if (end - at > 1) groups.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(end - at)});
    at = end;
  }
  if (groups.empty()) return {};
  Feature feature{stream::kFeatureGroupDescription, {}};
  put(feature.content, static_cast<uint32_t>(groups.size()));
  for (const Group& group : groups) {
    put_text(feature.content, "{anon_group}");
    put(feature.content, group.leader);
    put(feature.content, group.members);
  }
  return {feature};
}

std::vector<Feature> branch_stack_feature(std::span<const FileEvent> events) {
  const bool any = std::any_of(events.begin(), events.end(), [](const FileEvent& event) {
    return (event.attr.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0;
  });
  return any ? std::vector<Feature>{{stream::kFeatureBranchStack, {}}} : std::vector<Feature>{};
}

uint64_t now(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

Feature clock_id_feature() {
  timespec resolution{};
  ::clock_getres(CLOCK_MONOTONIC, &resolution);
  Feature feature{stream::kFeatureClockId, {}};
  put(feature.content, static_cast<uint64_t>(resolution.tv_nsec));
  return feature;
}

// Ties the clock of the samples to the time of day.
Feature clock_data_feature() {
  Feature feature{stream::kFeatureClockData, {}};
  put(feature.content, uint32_t{1});
  put(feature.content, static_cast<uint32_t>(CLOCK_MONOTONIC));
  put(feature.content, now(CLOCK_REALTIME));
  put(feature.content, now(CLOCK_MONOTONIC));
  return feature;
}

// A file of tracefs with its length before it. Absent files count as empty: a format of /sys has no fixed set.
template <class Length>
void put_file(std::string& out, const std::string& path) {
  const auto text = base::read_small_file(path);
  const std::string_view content = text ? std::string_view(*text) : std::string_view();
  put(out, static_cast<Length>(content.size()));
  out += content;
}

void put_event_formats(std::string& out, const std::string& root, std::span<const kernel::EventSpec> events) {
  std::map<std::string, std::set<std::string>> names;
  for (const auto& event : events) {
    if (!event.tracepoint()) continue;
    const size_t colon = event.name.find(':');
    names[event.name.substr(0, colon)].insert(
        event.name.substr(colon + 1, event.name.find(':', colon + 1) - colon - 1));
  }
  put(out, static_cast<uint32_t>(names.size()));
  for (const auto& [group, members] : names) {
    out.append(group.c_str(), group.size() + 1);
    put(out, static_cast<uint32_t>(members.size()));
    for (const std::string& name : members) put_file<uint64_t>(out, root + "/events/" + group + "/" + name + "/format");
  }
}

}  // namespace

std::vector<Feature> start_features(std::span<const FileEvent> events, std::span<const std::string> command_line,
                                    bool monotonic_clock) {
  std::vector<Feature> features = machine_features();
  features.push_back(text_feature(stream::kFeatureVersion, "tephra " TEPHRA_VERSION));
  features.push_back(command_line_feature(command_line));
  features.push_back(event_description_feature(events));
  for (auto& more : {group_description_feature(events), branch_stack_feature(events)}) {
    features.insert(features.end(), more.begin(), more.end());
  }
  if (monotonic_clock) {
    features.push_back(clock_id_feature());
    features.push_back(clock_data_feature());
  }
  return features;
}

base::Result<Feature> tracing_data_feature(std::span<const kernel::EventSpec> events) {
  TEPHRA_TRY(const std::string root, kernel::tracefs_folder());
  Feature feature{stream::kFeatureTracingData, {}};
  std::string& out = feature.content;
  out += std::string_view("\x17\x08\x44tracing0.6\0", 14);
  put(out, uint8_t{__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__});
  put(out, uint8_t{sizeof(long)});
  put(out, static_cast<uint32_t>(::sysconf(_SC_PAGESIZE)));
  out += std::string_view("header_page\0", 12);
  put_file<uint64_t>(out, root + "/events/header_page");
  out += std::string_view("header_event\0", 13);
  put_file<uint64_t>(out, root + "/events/header_event");
  put(out, uint32_t{0});  // formats of ftrace's own events: none recorded
  put_event_formats(out, root, events);
  put(out, uint32_t{0});  // kernel symbols: readers take them from elsewhere
  put_file<uint32_t>(out, root + "/printk_formats");
  put_file<uint64_t>(out, root + "/saved_cmdlines");
  return feature;
}

}  // namespace tephra::collect
