#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernel/machine_facts.h"
#include "symbols/process_facts.h"

namespace tephra::analysis {

// One thing that profiling depends on: whether it is as it should be, and if not what is lost and what brings it back.
struct Finding {
  enum class Level { kGood, kLimited, kMissing };

  std::string topic;  // stable, a few words: "kernel names"
  Level level = Level::kGood;
  std::string what;  // how it is
  std::string lost;  // what does not work because of it; empty when good
  std::string fix;   // what to do, a command where there is one; empty when good
};
// "good", "limited", "missing".
std::string_view level_name(Finding::Level level);

// What of profiling works on this machine for this user. Facts in, findings out: nothing is read or tried here.
std::vector<Finding> judge_machine(const kernel::MachineFacts& facts);

// How well a process can be profiled here.
std::vector<Finding> judge_process(const symbols::ProcessFacts& facts, const kernel::MachineFacts& machine);

// Whether the CPU can be profiled at all.
bool cpu_profiling_works(const kernel::MachineFacts& facts);

}  // namespace tephra::analysis
