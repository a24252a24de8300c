#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "event.h"
#include "machine_config.h"

namespace tephra::fake {

// The leaders of the groups that want to run on a CPU now, in the order they were opened: those of the CPU itself and
// those of the task that is on it. All are enabled and free of errors.
struct Contenders {
  std::vector<Event*> of_cpu;
  std::vector<Event*> of_task;
};

struct Choice {
  std::vector<Event*> running;          // leaders whose whole group is on the counters
  std::vector<Event*> pinned_failures;  // pinned leaders for which there was no room
  bool shared = false;                  // not all fit: the order must rotate
};

// Chooses as the kernel does: pinned groups first, those of the CPU before those of the task; a group runs whole or not
// at all; behind the first that does not fit, none that needs a counter is tried. `turn` rotates the others.
Choice choose(const Contenders& contenders, const MachineConfig& config, size_t turn);

// The enabled events of a group, the leader first.
std::vector<Event*> group_of(Event& leader);

}  // namespace tephra::fake
