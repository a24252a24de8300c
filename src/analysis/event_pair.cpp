#include "analysis/event_pair.h"

#include <algorithm>

namespace tephra::analysis {
namespace {

// Without modifiers, without the PMU, and by the one name of events that have two.
std::string_view plain_name(std::string_view name) {
  if (const size_t slash = name.find('/'); slash != std::string_view::npos) {
    name.remove_prefix(slash + 1);
    name = name.substr(0, name.find('/'));
  }
  // Tracepoints are group:event; what follows a colon is a modifier only if it is one.
  const size_t colon = name.rfind(':');
  if (colon != std::string_view::npos && name.find_first_not_of("ukhGHIpPSDWeb", colon + 1) == std::string_view::npos) {
    name = name.substr(0, colon);
  }
  if (name == "cpu-cycles") return "cycles";
  if (name == "branches") return "branch-instructions";
  return name;
}

std::vector<bool> has_samples(const model::Profile& profile) {
  std::vector<bool> found(profile.events.size());
  for (const model::EventId event : profile.samples.event) found[event.value] = true;
  return found;
}

template <class Holds>
std::optional<model::EventId> find_if(const model::Profile& profile, Holds holds) {
  const std::vector<bool> sampled = has_samples(profile);
  std::optional<model::EventId> found;
  model::for_each_id(profile.events, [&](model::EventId id) {
    if (!found && sampled[id.value] && holds(profile.text(profile.events[id].name))) found = id;
  });
  return found;
}

}  // namespace

PairTree pair_tree(model::Profile profile, const EventPair& pair, const CallTreeOptions& options) {
  const model::Samples& from = profile.samples;
  model::Samples to;
  for (size_t i = 0; i < from.size(); ++i) {
    const bool first = from.event[i] == pair.first;
    const bool second = from.event[i] == pair.second;
    if (!first && !second) continue;
    to.stack.push_back(from.stack[i]);
    to.event.push_back(from.event[i]);
    to.thread.push_back(from.thread[i]);
    to.count.push_back(first ? from.value[i] : 0);
    to.value.push_back(second ? from.value[i] : 0);
  }
  profile.samples = std::move(to);
  return {call_tree(profile, options)};
}

std::optional<model::EventId> find_event(const model::Profile& profile, std::string_view name) {
  const auto exact = find_if(profile, [&](std::string_view text) { return text == name; });
  if (exact) return exact;
  return find_if(profile, [&](std::string_view text) { return plain_name(text) == plain_name(name); });
}

std::vector<std::string_view> sampled_events(const model::Profile& profile) {
  const std::vector<bool> sampled = has_samples(profile);
  std::vector<std::string_view> names;
  model::for_each_id(profile.events, [&](model::EventId id) {
    if (sampled[id.value]) names.push_back(profile.text(profile.events[id].name));
  });
  return names;
}

std::optional<EventPair> before_and_after(const model::Profile& profile) {
  if (profile.facts.format != "folded") return std::nullopt;
  std::optional<model::EventId> before;
  std::optional<model::EventId> after;
  model::for_each_id(profile.events, [&](model::EventId id) {
    if (profile.text(profile.events[id].name) == "before") before = id;
    if (profile.text(profile.events[id].name) == "after") after = id;
  });
  if (!before || !after) return std::nullopt;
  return EventPair{*before, *after};
}

}  // namespace tephra::analysis
