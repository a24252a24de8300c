#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "collect/trigger.h"

namespace tephra::collect {

// Two counts that only grow. A trigger looks at how much of the second the first was, over a window.
struct ShareReading {
  uint64_t part = 0;
  uint64_t whole = 0;
};
using ReadShare = std::function<std::optional<ShareReading>()>;

// Fires when the share over the last window is above a limit. The window slides by halves: something that lasts for one
// and a half windows is always seen in full.
class ShareTrigger : public Trigger {
 public:
  struct Condition {
    double percent = 0;
    std::chrono::milliseconds window{100};
    std::string what;  // "CPUs busy"
  };
  ShareTrigger(Condition condition, ReadShare read, std::chrono::milliseconds cooldown);

  std::optional<std::chrono::milliseconds> poll_every() const override { return condition_.window / 2; }

 protected:
  std::optional<std::string> check(Clock::time_point now) override;

 private:
  struct Reading {
    Clock::time_point at;
    ShareReading share;
  };

  Condition condition_;
  ReadShare read_;
  std::deque<Reading> readings_;  // the first is about a window old
};

// The counts behind the triggers. Those that this machine does not offer are errors that say how to get them.
base::Result<ReadShare> machine_cpu_share();
base::Result<ReadShare> process_cpu_share(pid_t pid);
base::Result<ReadShare> pressure_share(const std::string& resource);

// CPU time of the first line of /proc/stat, in the kernel's steps: busy and all.
std::optional<ShareReading> parse_cpu_times(std::string_view stat);
// Microseconds of "some … total=…" in a file of /proc/pressure.
std::optional<uint64_t> parse_stalled_us(std::string_view pressure);

}  // namespace tephra::collect
