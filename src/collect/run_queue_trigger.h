#pragma once

#include <chrono>
#include <memory>

#include "base/result.h"
#include "collect/trigger.h"

namespace tephra::collect {

// Fires when a thread that was ready to run got no CPU for at least that long; a BPF program in the scheduler watches.
// Of several at once the longest is told.
base::Result<std::unique_ptr<Trigger>> open_run_queue_trigger(std::chrono::nanoseconds latency,
                                                              std::chrono::milliseconds cooldown);

}  // namespace tephra::collect
