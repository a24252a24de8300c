#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "collect/collector.h"
#include "collect/surroundings.h"
#include "collect/taken_stacks.h"
#include "kernel/activity_program.h"

namespace tephra::collect {

// What threads do as samples of an event (event_of()): the raw data says what, how often, how much and how long
// (abi/activity_record.h). A sample is the sum of what a thread did at one place.
class ActivityCollector : public Collector, private kernel::ActivityProgram::Listener {
 public:
  static base::Result<std::unique_ptr<ActivityCollector>> open(kernel::Activity activity,
                                                               const Surroundings& surroundings);

  base::Status begin() override;
  int fd() const override { return program_->fd(); }
  base::Status tick() override;
  base::Status stop() override;
  void take(std::string& records) override;
  std::vector<std::string> notes() const override;

 private:
  struct KeyHash {
    size_t operator()(const tephra_activity_key& key) const;
  };
  struct KeySame {
    bool operator()(const tephra_activity_key& a, const tephra_activity_key& b) const;
  };

  ActivityCollector(kernel::Activity activity, const Surroundings& surroundings);

  void hear(const kernel::TakenStack& stack) override;
  void hear(const tephra_walk_wanted& wanted) override;
  void hear(const tephra_activity_key& key, const tephra_activity_sum& sum) override;

  // Makes samples of the sums so far. `last`: what has no stack by now will have none.
  void write_sums(bool last);
  void write(const tephra_activity_key& key, const tephra_activity_sum& sum, const TakenStacks::Stack& stack);

  kernel::Activity activity_;
  StackEngine* engine_;
  pid_t usual_pid_;
  std::optional<SampleWriter> samples_;
  TakenStacks stacks_;
  std::unique_ptr<kernel::ActivityProgram> program_;

  std::string records_;  // that were not taken yet
  std::unordered_map<tephra_activity_key, tephra_activity_sum, KeyHash, KeySame> sums_;
  uint64_t ticks_ = 0;
  uint64_t all_ = 0;         // how often something was told
  uint64_t no_room_ = 0;     // of these without a stack because there was no room in the kernel
  uint64_t stack_lost_ = 0;  // or because it found no room on its way
};

}  // namespace tephra::collect
