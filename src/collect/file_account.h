#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collect/destination.h"
#include "collect/run_meter.h"
#include "collect/stack_engine.h"
#include "model/profile.h"
#include "stream/recorder_facts.h"

namespace tephra::collect {

// What a file tells about its own recording: what that cost, and what it missed, since the file was begun.
class FileAccount {
 public:
  // Of the whole recording so far.
  struct Totals {
    std::optional<Destination::Losses> losses;
    uint64_t wakeups = 0;
    std::optional<StackEngine::Totals> stacks;
    std::vector<model::CopySize> copies;  // where their size is ours to choose
  };

  stream::RecorderFacts facts(const Totals& now, const std::vector<int>& cpus) const;
  // From here on what is told is told about a new file.
  void begin_next(const Totals& now);

 private:
  RunMeter meter_;
  Totals begun_;
  bool first_ = true;
};

}  // namespace tephra::collect
