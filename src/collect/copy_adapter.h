#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "collect/copy_sizes.h"
#include "collect/copy_watch.h"
#include "collect/destination.h"
#include "collect/recorded_events.h"
#include "collect/ring_set.h"

namespace tephra::collect {

// Lets copies of stacks be as large as the stacks are: watches them, and opens the events anew with another size where
// too many are cut, or none is and most of the copy is never filled.
class CopyAdapter {
 public:
  // `note` is told of every change, and once of what stands against one.
  CopyAdapter(RecordedEvents& recorded, Note note);

  CopyWatch& watch() { return watch_; }
  const CopySizes& sizes() const { return watch_.sizes(); }
  // To be called after a pass over the rings, and about once a second: changes the size if it is time to.
  base::Status look(Destination& destination);

 private:
  using Clock = std::chrono::steady_clock;
  using Decision = CopySizes::Decision;

  CopySizes::Limits limits() const;
  base::Status change(const Decision& decision, Destination& destination);
  void tell_change(uint32_t before, const Decision& decision);
  void tell_limit(const Decision& decision);
  base::Status hear(Destination& destination);

  RecordedEvents& recorded_;
  Note note_;
  CopyWatch watch_;
  bool said_limit_ = false;
};

}  // namespace tephra::collect
