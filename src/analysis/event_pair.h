#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "analysis/call_tree.h"
#include "model/profile.h"

namespace tephra::analysis {

// Two events of a profile side by side: cycles and instructions, before and after.
struct EventPair {
  model::EventId first;
  model::EventId second;
};

// A call tree of two events. In all totals of its nodes `count` is the weight of the first event and `value` that of
// the second, both by their values (periods); names and shape are those of call_tree().
struct PairTree {
  CallTree tree;
};
inline uint64_t first_of(const model::Totals& totals) { return totals.count; }
inline uint64_t second_of(const model::Totals& totals) { return totals.value; }

// Takes the profile, since only its samples change. Samples of other events are left out.
PairTree pair_tree(model::Profile profile, const EventPair& pair, const CallTreeOptions& options = {});

// The event of that name that has samples. Modifiers and the PMU in front need not be given: "cycles" finds "cycles:u",
// "cpu_core/cycles/" and "cpu-cycles". An event of exactly that name comes first.
std::optional<model::EventId> find_event(const model::Profile& profile, std::string_view name);

// The names of the events that have samples, in the order of the profile.
std::vector<std::string_view> sampled_events(const model::Profile& profile);

// The pair that folded stacks with two numbers a line hold.
std::optional<EventPair> before_and_after(const model::Profile& profile);

}  // namespace tephra::analysis
