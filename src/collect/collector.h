#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace tephra::collect {

// Makes the samples of an event that perf itself has none of (kernel::EventSpec::collected): a program in the kernel
// times, pairs or sums up what happens, and what it tells becomes perf records of that event. The recorder drives it
// beside the events that are sampled.
class Collector {
 public:
  virtual ~Collector() = default;

  // Counts from now on. Called once: for what runs already when its events are enabled, for a program that is started
  // right before its exec.
  virtual base::Status begin() = 0;
  // Readable when take() should be called before the next tick; -1: there is no such descriptor.
  virtual int fd() const = 0;
  // To be called about once a second.
  virtual base::Status tick() = 0;
  // Counts nothing more; take() then gives the rest.
  virtual base::Status stop() = 0;
  // Appends the samples since the last call: whole perf records.
  virtual void take(std::string& records) = 0;

  // What the user should know of what was collected, a line each: losses, and what it cost. After stop().
  virtual std::vector<std::string> notes() const = 0;
};

}  // namespace tephra::collect
