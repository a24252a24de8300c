#pragma once

#include <string>

#include "kernel/event_spec.h"

namespace tephra::kernel {

// Whether an event works on this machine, and if not, why and what does.
struct Countability {
  bool counts = false;
  std::string why;      // why it does not count, or does not sample: "this machine has no PMU ..."
  std::string instead;  // an event that works here and answers a similar question, or empty
  bool samples = false;
};

// Opens the event on this process, or on its CPU where it counts for a whole socket, and lets it go at once. An event
// that must advance while code runs has to: a virtual machine may take `cycles` and never count one.
Countability countable(const EventSpec& event);

// What the kernel's refusal means. `sampling`: it counts, but was refused with a period.
struct Refusal {
  int error = 0;
  bool sampling = false;
  bool cpu_pmu = true;  // the machine has a PMU of its CPUs
};
std::string why_refused(const EventSpec& event, const Refusal& refusal);

// The event to offer where this one does not work: cpu-clock for those that show where time goes.
std::string substitute_for(const EventSpec& event);

}  // namespace tephra::kernel
