#include "formats/sample_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tephra::formats {
namespace {

using base::Json;
using base::JsonWriter;
using model::Profile;

// Events whose values say more than their counts. Values that are all zero say nothing.
std::vector<bool> valued_events(const Profile& profile) {
  std::vector<bool> differs(profile.events.size());
  std::vector<bool> any(profile.events.size());
  for (size_t row = 0; row < profile.samples.size(); ++row) {
    const uint32_t event = profile.samples.event[row].value;
    differs[event] = differs[event] || profile.samples.value[row] != profile.samples.count[row];
    any[event] = any[event] || profile.samples.value[row] != 0;
  }
  for (uint32_t i = 0; i < differs.size(); ++i) {
    differs[i] = any[i] && (differs[i] || profile.events[model::EventId{i}].uncounted);
  }
  return differs;
}

int32_t id_of(const Json& json) {
  const int64_t id = json.integer(-1);
  return id < 0 || id > INT32_MAX ? -1 : static_cast<int32_t>(id);
}

}  // namespace

std::vector<SampleGroup> sample_groups(const Profile& profile) {
  const model::Samples& samples = profile.samples;
  const std::vector<bool> valued = valued_events(profile);
  std::map<std::pair<model::ThreadId, model::EventId>, size_t> places;
  std::vector<SampleGroup> groups;
  for (uint32_t row = 0; row < samples.size(); ++row) {
    const auto [at, fresh] = places.try_emplace({samples.thread[row], samples.event[row]}, groups.size());
    if (fresh) {
      groups.push_back({samples.thread[row], samples.event[row], {}, valued[samples.event[row].value], 0});
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
  origin.counts = json["counts"];
  return origin;
}

void write_comments(JsonWriter& json, const Profile& profile) {
  json.begin_object().key("comments").begin_array();
  for (const std::string& comment : profile.facts.comments) json.value(comment);
  json.end_array().end_object();
}

void read_comments(const Json& json, model::RecordingFacts& facts) {
  for (const Json comment : json["comments"].elements()) {
    if (comment.is_text()) facts.comments.push_back(comment.text());
  }
}

}  // namespace tephra::formats
