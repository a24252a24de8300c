#include "kernel/event_parser.h"

#include <linux/perf_event.h>

#include <algorithm>

#include "kernel/breakpoints.h"
#include "kernel/event_modifiers.h"
#include "kernel/event_names.h"
#include "kernel/event_syntax.h"
#include "kernel/event_terms.h"
#include "kernel/glob.h"
#include "kernel/near_match.h"
#include "kernel/perf_calls.h"
#include "kernel/pfm_events.h"
#include "kernel/unknown_event.h"

namespace tephra::kernel {
namespace {

// "*:*" a few times over is more than any machine could count.
constexpr size_t kMaxEvents = 20'000;

// Events that one text stands for, and the modifier letters that it gives to each of them.
struct Found {
  std::vector<EventSpec> events;
  std::string modifiers;
};

struct Head {
  std::string name;
  std::string rest;
  bool colon = false;
};
Head split_head(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return {text, "", false};
  return {text.substr(0, colon), text.substr(colon + 1), true};
}

EventSpec raw_event(const std::string& name, uint64_t code) {
  EventSpec event;
  event.name = name;
  event.type = PERF_TYPE_RAW;
  event.config = code;
  event.exclude_guest = true;
  return event;
}

// An event that is known by its name alone: of every machine, or a raw code.
std::optional<EventSpec> plain_event(const std::string& name) {
  if (auto event = named_event(name)) return event;
  if (const auto code = raw_code(name)) return raw_event(name, *code);
  return std::nullopt;
}

class Lookup {
 public:
  explicit Lookup(EventSources& sources) : sources_(sources) {}

  base::Result<Found> find(const EventText& text) {
    if (text.name.starts_with(kBreakpointPrefix)) return find_breakpoint(text);
    return text.has_terms ? find_with_terms(text) : find_without_terms(text);
  }

 private:
  base::Result<Found> find_breakpoint(const EventText& text) {
    TEPHRA_TRY(BreakpointText breakpoint, parse_breakpoint(text.name));
    return Found{{std::move(breakpoint.event)}, std::move(breakpoint.modifiers)};
  }

  // "name/terms/modifiers"
  base::Result<Found> find_with_terms(const EventText& text) {
    if (auto event = plain_event(text.name)) {
      event->name = text.written;
      TEPHRA_CHECK_OK(apply_terms(*event, text.terms));
      return Found{{std::move(*event)}, text.modifiers};
    }
    if (text.name.find(':') != std::string::npos) return find_tracepoint_with_terms(text);
    return find_in_pmus(text);
  }

  base::Result<Found> find_without_terms(const EventText& text) {
    const Head head = split_head(text.name);
    if (auto event = plain_event(head.name)) {
      event->name = head.rest.empty() ? head.name : text.name;
      return Found{{std::move(*event)}, head.rest};
    }
    if (!head.colon || are_modifiers(head.rest)) {
      TEPHRA_TRY(Found found, find_bare_pmu_event(text, head));
      if (!found.events.empty()) return found;
    }
    const bool tracepoint = head.colon && !head.rest.starts_with(':');
    if (tracepoint && sources_.tracepoints.has_group(head.name)) return find_tracepoints(head);
    if (auto event = pfm_event(text.name); !event || *event) {
      if (!event) return std::move(event).error();
      return Found{{std::move(**event)}, ""};
    }
    // Where tracepoints cannot be read, it may well be one.
    if (tracepoint && !are_modifiers(head.rest)) TEPHRA_CHECK_OK(sources_.tracepoints.ready());
    return unknown_event(text.name, sources_.pmus, sources_.tracepoints);
  }

  // "group:name[:modifiers]"
  base::Result<Found> find_tracepoints(const Head& head) {
    const Head name = split_head(head.rest);
    TEPHRA_TRY(const std::vector<Tracepoint> tracepoints, sources_.tracepoints.match(head.name, name.name));
    Found found{{}, name.rest};
    for (const Tracepoint& tracepoint : tracepoints) {
      EventSpec event;
      event.name = tracepoint.group + ":" + tracepoint.name + (name.rest.empty() ? "" : ":" + name.rest);
      event.type = PERF_TYPE_TRACEPOINT;
      event.config = tracepoint.id;
      found.events.push_back(std::move(event));
    }
    return found;
  }

  base::Result<Found> find_tracepoint_with_terms(const EventText& text) {
    for (const EventTerm& term : text.terms) {
      if (term.name == "period" || term.name == "freq") continue;
      return base::usage_error("unknown term of a tracepoint", text.written, "'" + term.name + "'",
                               "A tracepoint takes period and freq; it keeps its name, by which its fields are found.");
    }
    Head head = split_head(text.name);
    if (!text.modifiers.empty()) head.rest += ":" + text.modifiers;
    TEPHRA_TRY(Found found, find_tracepoints(head));
    for (EventSpec& event : found.events) TEPHRA_CHECK_OK(apply_terms(event, text.terms));
    return found;
  }

  EventSpec event_of(const Pmu& pmu, std::string name) const {
    EventSpec event;
    event.name = std::move(name);
    event.type = pmu.type;
    event.cpus = pmu.cpus;
    event.exclude_guest = pmu.core;
    return event;
  }

  base::Result<Found> find_in_pmus(const EventText& text) {
    const std::vector<const Pmu*> pmus = sources_.pmus.match(text.name);
    if (pmus.empty()) return unknown_pmu(text.name, text.written, sources_.pmus);
    Found found{{}, text.modifiers};
    for (const Pmu* pmu : pmus) {
      EventSpec event = event_of(*pmu, pmu->name + text.written.substr(text.name.size()));
      TEPHRA_CHECK_OK(apply_pmu_terms(event, text.terms, *pmu, sources_.pmus));
      found.events.push_back(std::move(event));
    }
    return found;
  }

  // "tsc" for msr/tsc/: an event that a PMU names, in every PMU that does.
  base::Result<Found> find_bare_pmu_event(const EventText& text, const Head& head) {
    const std::vector<const Pmu*> pmus = sources_.pmus.with_event(head.name);
    Found found{{}, head.rest};
    for (const Pmu* pmu : pmus) {
      std::string name = pmus.size() == 1 ? text.name : pmu->name + "/" + head.name + "/" + head.rest;
      EventSpec event = event_of(*pmu, std::move(name));
      TEPHRA_CHECK_OK(apply_pmu_terms(event, {EventTerm{.name = head.name}}, *pmu, sources_.pmus));
      found.events.push_back(std::move(event));
    }
    return found;
  }

  EventSources& sources_;
};

// A group's letters become part of the names of its events, as far as they change what is counted.
void add_to_name(EventSpec& event, std::string_view own, std::string_view group) {
  std::string letters;
  for (const char letter : group) {
    const bool counts = std::string_view("ukhGHIpP").find(letter) != std::string_view::npos;
    if (counts && (letter == 'p' || own.find(letter) == std::string_view::npos)) letters += letter;
  }
  if (letters.empty()) return;
  if (own.empty() && !event.name.ends_with('/') && !event.name.ends_with(':')) event.name += ':';
  event.name += letters;
}

bool has_own_name(const EventText& text) {
  return std::any_of(text.terms.begin(), text.terms.end(), [](const EventTerm& term) { return term.name == "name"; });
}

base::Status add_group(const EventGroupText& text, int number, Lookup& lookup, std::vector<EventSpec>& events) {
  const size_t first = events.size();
  for (const EventText& each : text.events) {
    TEPHRA_TRY(Found found, lookup.find(each));
    for (EventSpec& event : found.events) {
      TEPHRA_CHECK_OK(apply_modifiers(event, found.modifiers, text.modifiers, events.size() == first));
      if (!has_own_name(each)) add_to_name(event, found.modifiers, text.modifiers);
      event.group = number;
      events.push_back(std::move(event));
    }
    if (events.size() > kMaxEvents) {
      return base::usage_error("too many events", each.written,
                               "the list stands for more than " + std::to_string(kMaxEvents));
    }
  }
  return {};
}

}  // namespace

EventSources EventSources::here() { return {Pmus(calls::event_source_folder()), Tracepoints()}; }

base::Result<std::vector<EventSpec>> parse_events(std::string_view text, EventSources& sources) {
  TEPHRA_TRY(const std::vector<EventGroupText> groups, split_events(text));
  Lookup lookup(sources);
  std::vector<EventSpec> events;
  int number = 0;
  for (const EventGroupText& group : groups) {
    TEPHRA_CHECK_OK(add_group(group, group.braces ? number++ : -1, lookup, events));
  }
  return events;
}

base::Result<std::vector<EventSpec>> parse_events(std::string_view text) {
  EventSources sources = EventSources::here();
  return parse_events(text, sources);
}

}  // namespace tephra::kernel
