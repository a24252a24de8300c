#include "formats/sample_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tephra::formats {
namespace {

using base::Json;
using base::JsonWriter;
using model::Profile;

// What is known of an event's values.
struct Values {
  bool any = false;      // that is not zero
  bool differs = false;  // from the count of its sample
};

std::vector<Values> values_by_event(const Profile& profile) {
  std::vector<Values> values(profile.events.size());
  for (size_t row = 0; row < profile.samples.size(); ++row) {
    Values& of_event = values[profile.samples.event[row].value];
    of_event.differs = of_event.differs || profile.samples.value[row] != profile.samples.count[row];
    of_event.any = of_event.any || profile.samples.value[row] != 0;
  }
  return values;
}

int32_t id_of(const Json& json) {
  const int64_t id = json.integer(-1);
  return id < 0 || id > INT32_MAX ? -1 : static_cast<int32_t>(id);
}

}  // namespace

std::vector<SampleGroup> sample_groups(const Profile& profile) {
  const model::Samples& samples = profile.samples;
  const std::vector<Values> values = values_by_event(profile);
  std::map<std::pair<model::ThreadId, model::EventId>, size_t> places;
  std::vector<SampleGroup> groups;
  for (uint32_t row = 0; row < samples.size(); ++row) {
    const auto [at, fresh] = places.try_emplace({samples.thread[row], samples.event[row]}, groups.size());
    if (fresh) {
      const Values& of_event = values[samples.event[row].value];
      const bool uncounted = profile.events[samples.event[row]].uncounted;
      // Values that are all zero say nothing.
      const bool by_value = of_event.any && (of_event.differs || uncounted);
      groups.push_back({samples.thread[row], samples.event[row], {}, by_value, !of_event.any, 0});
    }
    SampleGroup& group = groups[at->second];
    group.rows.push_back(row);
    group.sum += group.weight(profile, row);
  }
  std::vector<SampleGroup> sorted;
  for (const auto& [key, place] : places) {
    SampleGroup& group = sorted.emplace_back(std::move(groups[place]));
    if (samples.time.empty()) continue;
    std::stable_sort(group.rows.begin(), group.rows.end(),
                     [&](uint32_t a, uint32_t b) { return samples.time[a] < samples.time[b]; });
  }
  return sorted;
}

base::Status check_numbers(const Profile& profile, const std::vector<SampleGroup>& groups) {
  const bool fit = std::ranges::all_of(groups, [](const SampleGroup& group) { return group.sum <= kLargestNumber; });
  if (fit && model::totals(profile).count <= kLargestNumber) return {};
  return base::failed("cannot write", "",
                      fmt::format("a sum is larger than {}, the largest that is read", kLargestNumber),
                      "A number of the input is damaged; perf.data holds larger ones.");
}

std::string name_of(const Profile& profile, const SampleGroup& group) {
  const model::Thread& thread = profile.threads[group.thread];
  std::string name(profile.text(thread.comm));
  const auto add = [&](const std::string& text) { name += fmt::format("{}{}", name.empty() ? "" : " ", text); };
  if (thread.pid >= 0 && thread.tid >= 0) {
    add(fmt::format("{}/{}", thread.pid, thread.tid));
  } else if (thread.pid >= 0 || thread.tid >= 0) {
    add(fmt::format("{}", std::max(thread.pid, thread.tid)));
  }
  add(std::string(profile.text(profile.events[group.event].name)));
  return name;
}

void write_origin(JsonWriter& json, const Profile& profile, const SampleGroup& group) {
  const model::Event& event = profile.events[group.event];
  const model::Thread& thread = profile.threads[group.thread];
  json.begin_object().member("event", profile.text(event.name)).member("unit", profile.text(event.unit));
  if (event.counted) json.member("counted", profile.text(event.counted));
  if (event.uncounted) json.member("uncounted", true);
  json.member("weighed_by", group.by_value ? "value" : "count");
  if (group.valueless) json.member("valueless", true);
  if (thread.pid >= 0) json.member("pid", thread.pid);
  if (thread.tid >= 0) json.member("tid", thread.tid);
  if (thread.comm) json.member("comm", profile.text(thread.comm));
  if (thread.kernel_thread) json.member("kernel_thread", true);
  const auto& counts = profile.samples.count;
  if (group.by_value &&
      std::any_of(group.rows.begin(), group.rows.end(), [&](uint32_t row) { return counts[row] != 1; })) {
    json.key("counts").begin_array();
    for (const uint32_t row : group.rows) json.value(counts[row]);
    json.end_array();
  }
  json.end_object();
}

std::optional<SampleOrigin> SampleOrigin::read(const Json& json, model::ProfileAssembler& assembler) {
  if (!json["event"].is_text() || !json["weighed_by"].is_text()) return std::nullopt;
  const auto text = [&](std::string_view name) {
    std::string storage;
    return assembler.string(json[name].text(storage));
  };
  SampleOrigin origin;
  origin.event = assembler.event({text("event"), text("unit"), text("counted"), json["uncounted"].truth()});
  origin.thread =
      assembler.thread({id_of(json["pid"]), id_of(json["tid"]), text("comm"), json["kernel_thread"].truth()});
  origin.by_value = json["weighed_by"].text() == "value";
  origin.valueless = json["valueless"].truth();
  origin.counts = json["counts"];
  return origin;
}

void write_facts(JsonWriter& json, const Profile& profile) {
  const model::RecordingFacts& facts = profile.facts;
  json.begin_object().key("comments").begin_array();
  for (const std::string& comment : facts.comments) json.value(comment);
  json.end_array();
  const auto apart = static_cast<int64_t>(facts.last_time - std::min(facts.first_time, facts.last_time));
  json.member("duration_ns", facts.duration_ns != 0 ? facts.duration_ns : apart).end_object();
}

void read_facts(const Json& json, model::RecordingFacts& facts) {
  for (const Json comment : json["comments"].elements()) {
    if (comment.is_text()) facts.comments.push_back(comment.text());
  }
  if (json["duration_ns"].is_number()) facts.duration_ns = std::max<int64_t>(0, json["duration_ns"].integer(0));
}

}  // namespace tephra::formats
