#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collect/event_set.h"
#include "collect/followed_tasks.h"
#include "collect/live_tasks.h"
#include "collect/recorder.h"
#include "collect/stack_choice.h"
#include "collect/stack_engine.h"
#include "collect/synthesize.h"
#include "kernel/perf_event.h"

namespace tephra::collect {

// What a recording samples: its events, open on its target, and the engine that takes their stacks.
class RecordedEvents {
 public:
  RecordedEvents(const RecordOptions& options, const kernel::AttrSupport& support, Note note);

  // `program`: that which was forked for us, 0 for none.
  base::Status open(pid_t program);

  const std::vector<kernel::EventSpec>& specs() const { return specs_; }
  // With the engine that was chosen.
  const SampleSettings& sampling() const { return sampling_; }
  // Why the engine is what it is, for the user; empty where it was not ours to choose.
  const std::string& choice_text() const { return choice_text_; }

  EventSet& events() { return *events_; }
  const EventSet& events() const { return *events_; }
  // Null unless stacks are walked in the kernel.
  StackEngine* stacks() const { return stacks_.get(); }
  // Samples for which the ring they go through had no room.
  uint64_t walks_lost() const { return stacks_ ? stacks_->totals().program.lost : 0; }
  // Null where the kernel hands the events on by itself.
  FollowedTasks* tasks() { return tasks_ ? &*tasks_ : nullptr; }
  // Whether events are opened on more tasks as they come.
  bool scans() const { return tasks_ && tasks_->scans(); }

  // Whether the size of stack copies may change while recording.
  bool copies_adapt() const { return live_.has_value(); }
  // Whether it has.
  bool copies_changed() const { return copies_changed_; }
  // Takes what records told of tasks since the last call, where copies adapt.
  void take_births(RecordCounts& counts);
  // Opens what samples once more with copies of this size, on all that has it now, and closes the old. `hear` takes
  // the rings and calls take_births(). On an error all is as before.
  base::Status resize_copies(uint32_t bytes, const std::function<base::Status()>& hear);

  // Waits until the tables of what already runs are loaded, but not for ever.
  void wait_for_tables();
  // Settings for records about what exists.
  Synthesizer::Settings synthesis() const;
  std::vector<int> cpus() const { return {events_->rings().cpus().begin(), events_->rings().cpus().end()}; }
  // For example "cpu-clock and page-faults".
  std::string sampled_names() const;

 private:
  SampleSettings wanted_sampling() const;
  base::Result<StackChoice> choose_engine() const;
  base::Status open_with(StackChoice choice, pid_t program);
  base::Status open_rings();
  void prepare_walks();
  base::Status attach_target(pid_t program, bool inherits);
  base::Status attach_program(pid_t program, bool inherits);
  base::Status attach_cgroups();
  base::Status attach_cpus();
  void begin_to_adapt(pid_t program, bool inherits);
  uint64_t usual_ring_bytes() const;

  const RecordOptions& options_;
  const kernel::AttrSupport& support_;
  Note note_;
  std::vector<kernel::EventSpec> specs_;
  SampleSettings sampling_;
  std::string choice_text_;
  uint64_t copy_ring_bytes_ = 0;  // where there are stacks_
  std::unique_ptr<StackEngine> stacks_;
  std::optional<EventSet> events_;
  std::optional<FollowedTasks> tasks_;
  std::optional<LiveTasks> live_;  // where copies adapt
  bool inherits_ = false;
  bool copies_changed_ = false;
};

}  // namespace tephra::collect
