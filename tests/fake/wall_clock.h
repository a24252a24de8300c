#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#include "fake_machine.h"
#include "task_follower.h"

namespace tephra::fake {

// Lets a machine's time follow the real clock while it lives: a thread of its own runs the machine every millisecond,
// with the real tasks that its events are attached to.
class WallClock {
 public:
  explicit WallClock(FakeMachine& machine);
  ~WallClock();
  WallClock(const WallClock&) = delete;
  WallClock& operator=(const WallClock&) = delete;

 private:
  void catch_up();
  void spoil(uint64_t now);

  FakeMachine& machine_;
  const MachineConfig config_;
  std::mutex mutex_;
  TaskFollower follower_;
  uint64_t begin_ = 0;    // when the first sampled event was on
  bool spoiled_ = false;  // the losses that were asked for were made
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace tephra::fake
