#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fake_machine.h"

namespace tephra::fake {

// Watches the real processes that events of the fake machine are attached to, and tells the machine of what becomes of
// them: exec, mappings, new threads and children, exit. It looks often rather than being told, so a program that lives
// for less than a few milliseconds may be missed.
class TaskFollower {
 public:
  explicit TaskFollower(FakeMachine& machine) : machine_(machine), config_(machine.config()) {}

  // Looks at everything once, and says who runs now: every followed task takes its turn, whether it sleeps or not.
  std::vector<Task> follow();

 private:
  struct Known {
    Task task;
    std::string comm;
    std::string image;          // changes with exec
    std::set<uint64_t> mapped;  // starts of mappings told of
  };

  bool waits_for_exec(pid_t tid);
  void learn(pid_t tid);
  void look_at(Known& known);
  void find_heirs();
  void forget_gone();
  void tell_exec(Known& known);
  void tell_new_mappings(Known& known);
  std::vector<Task> take_turns();

  FakeMachine& machine_;
  const MachineConfig config_;
  std::map<pid_t, Known> known_;
  std::set<pid_t> existing_;  // were there before: they inherit nothing
  uint64_t turn_ = 0;
};

}  // namespace tephra::fake
