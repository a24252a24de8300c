#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/number_hash.h"
#include "model/profile.h"
#include "stream/event.h"

namespace tephra::stream {

// Checks a recording of all time (-t wall) by its own records: what is told of each thread, running and waiting
// together, against the time from its birth to its end, or those of the recording. Fill it with all records of a
// recording, in any order.
class TimeAccount {
 public:
  // A sample of running or waiting. One of no length is of running, and says when the recording began or ended.
  void add_time(const Sample& sample);
  // Anything else; what is not about tasks is ignored.
  void add_event(const Event& event);

  // Nothing: the recorder did not say when it began and ended.
  std::optional<model::TimeAccount> finish() const;

 private:
  struct Thread {
    uint64_t told_ns = 0;
    uint64_t last = 0;  // the end of what is told of it
    bool was_there = false;
    std::vector<uint64_t> born;
    std::vector<uint64_t> ended;
  };
  std::optional<uint64_t> life_of(const Thread& thread) const;

  std::unordered_map<int32_t, Thread, base::NumberHash> threads_;
  uint64_t begun_ = UINT64_MAX;
  uint64_t stopped_ = 0;
};

}  // namespace tephra::stream
