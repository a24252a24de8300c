#include "counter_schedule.h"

#include <algorithm>

#include "attr_check.h"

namespace tephra::fake {
namespace {

struct Free {
  int counters = 0;
  int uncore = 0;
  bool exclusive = false;  // an exclusive group holds the PMU
  bool any = false;        // some group holds it
};

struct Need {
  int counters = 0;
  int uncore = 0;
};

Need need_of(Event& leader) {
  Need need;
  for (const Event* event : group_of(leader)) {
    need.counters += uses_counter(event->attr);
    need.uncore += is_uncore(event->attr);
  }
  return need;
}

bool take(Event& leader, Free& free) {
  const Need need = need_of(leader);
  if (need.counters == 0 && need.uncore == 0) return true;
  if (free.exclusive || (leader.attr.exclusive && free.any)) return false;
  if (need.counters > free.counters || need.uncore > free.uncore) return false;
  free.counters -= need.counters;
  free.uncore -= need.uncore;
  free.any = true;
  free.exclusive = leader.attr.exclusive;
  return true;
}

bool needs_hardware(Event& leader) {
  const Need need = need_of(leader);
  return need.counters > 0 || need.uncore > 0;
}

void place_pinned(const std::vector<Event*>& leaders, Free& free, Choice& choice) {
  for (Event* leader : leaders) {
    if (!leader->attr.pinned) continue;
    (take(*leader, free) ? choice.running : choice.pinned_failures).push_back(leader);
  }
}

// Groups without a hardware event always run and have no turns to take.
void place_others(const std::vector<Event*>& leaders, size_t turn, Free& free, Choice& choice) {
  std::vector<Event*> waiting;
  for (Event* leader : leaders) {
    if (!leader->attr.pinned) (needs_hardware(*leader) ? waiting : choice.running).push_back(leader);
  }
  if (waiting.empty()) return;
  std::rotate(waiting.begin(), waiting.begin() + static_cast<ptrdiff_t>(turn % waiting.size()), waiting.end());
  bool all_fit = true;
  for (Event* leader : waiting) {
    all_fit = all_fit && take(*leader, free);
    if (all_fit) choice.running.push_back(leader);
  }
  choice.shared = choice.shared || !all_fit;
}

}  // namespace

std::vector<Event*> group_of(Event& leader) {
  std::vector<Event*> group{&leader};
  for (const auto& weak : leader.members) {
    if (const auto member = weak.lock(); member && member->enabled) group.push_back(member.get());
  }
  return group;
}

Choice choose(const Contenders& contenders, const MachineConfig& config, size_t turn) {
  Free free{config.counters - config.taken_counters, config.uncore_counters};
  Choice choice;
  place_pinned(contenders.of_cpu, free, choice);
  place_pinned(contenders.of_task, free, choice);
  place_others(contenders.of_cpu, turn, free, choice);
  place_others(contenders.of_task, turn, free, choice);
  return choice;
}

}  // namespace tephra::fake
