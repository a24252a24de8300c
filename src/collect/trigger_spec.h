#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tephra::collect {

// When a flight recorder writes a snapshot by itself, as the user states it.
struct TriggerSpec {
  enum class Kind {
    kRunQueueLatency,  // a thread waited for a CPU for longer than `latency`
    kMachineCpu,       // the CPUs were busy for more than `percent` of the window
    kProcessCpu,       // a process used more than `percent` of one CPU over the window
    kPressure,         // some task was stalled for more than `percent` of the window
  };

  Kind kind = Kind::kMachineCpu;
  std::chrono::nanoseconds latency{0};
  double percent = 0;
  std::chrono::milliseconds window{0};
  pid_t pid = 0;         // of kProcessCpu
  std::string resource;  // of kPressure: "cpu", "memory" or "io"
  std::string text;      // as it was given
};

// "runqlat>10ms", "cpu>90%", "cpu(1234)>150%", "psi>20", "psi:io>20", and a window behind those but the first:
// "cpu>90%/1s". Anything else is a usage error that lists the forms.
base::Result<TriggerSpec> parse_trigger_spec(std::string_view text);

}  // namespace tephra::collect
