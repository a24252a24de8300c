#pragma once

#include <string>

#include "collect/ring_set.h"
#include "kernel/workload.h"

namespace tephra::collect {

// Waits for the end of a program that outlives its recording: it is asked to end, and killed when we are asked a second
// time. `note` is told when it takes long.
void end_program(kernel::Workload& program, const std::string& name, kernel::SignalInbox& signals, const Note& note);

}  // namespace tephra::collect
