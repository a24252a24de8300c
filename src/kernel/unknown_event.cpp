#include "kernel/unknown_event.h"

#include <algorithm>

#include "kernel/event_modifiers.h"
#include "kernel/event_names.h"
#include "kernel/near_match.h"
#include "kernel/pfm_events.h"

namespace tephra::kernel {
namespace {

// Whole names, and with each the part of it by which people call it: "sched_switch" of "sched:sched_switch".
struct Candidate {
  std::string known_as;
  std::string name;
};

std::vector<Candidate> candidates(Pmus& pmus, Tracepoints& tracepoints) {
  std::vector<Candidate> all;
  for (std::string& name : event_names()) all.push_back({name, name});
  for (const std::string& name : pmus.names()) {
    const Pmu* pmu = pmus.find(name);
    if (pmu == nullptr) continue;
    for (const std::string& event : pmu->events) all.push_back({event, name + "/" + event + "/"});
  }
  for (std::string& name : tracepoints.names()) {
    all.push_back({name.substr(name.find(':') + 1), name});
    all.push_back({name, name});
  }
  return all;
}

std::vector<std::string> nearest(const std::string& wanted, Pmus& pmus, Tracepoints& tracepoints) {
  const std::vector<Candidate> all = candidates(pmus, tracepoints);
  std::vector<std::string> keys;
  for (const Candidate& candidate : all) keys.push_back(candidate.known_as);
  std::vector<std::string> names;
  for (const std::string& key : near_matches(wanted, keys)) {
    for (const Candidate& candidate : all) {
      const bool listed = std::find(names.begin(), names.end(), candidate.name) != names.end();
      if (candidate.known_as == key && !listed && names.size() < 3) names.push_back(candidate.name);
    }
    if (key == wanted) break;  // it is the bare name of something; others are only similar
  }
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

base::Error unknown_event(const std::string& name, Pmus& pmus, Tracepoints& tracepoints) {
  const size_t colon = name.find(':');
  const bool whole = colon != std::string::npos && !are_modifiers(std::string_view(name).substr(colon + 1));
  const std::string fix = did_you_mean(nearest(whole ? name : name.substr(0, colon), pmus, tracepoints));
  const std::string why = !whole           ? ""
                          : pfm_built_in() ? "neither a tracepoint nor an event of this CPU that libpfm knows"
                                           : "no such tracepoint, and this build is without libpfm";
  return base::usage_error("no such event", name, why,
                           fix.empty() ? "An event is for example cpu-clock, cycles or sched:sched_switch." : fix);
}

base::Error unknown_pmu(const std::string& name, const std::string& written, Pmus& pmus) {
  std::string fix = did_you_mean(near_matches(name, pmus.names()));
  if (fix.empty() && !pmus.names().empty()) fix = "Those of this machine are " + listed(pmus.names()) + ".";
  if (name == "cpu") {
    return base::usage_error("no such source of events", written, "this machine shows no PMU of its CPUs",
                             "Use cpu-clock, which needs none. Virtual machines often have no PMU.");
  }
  return base::usage_error("no such source of events", written, "there is no PMU '" + name + "'", fix);
}

}  // namespace tephra::kernel
