#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace tephra::kernel {

// Runs a diagnostic command inside a Java virtual machine, as jcmd does: through the socket on which it listens. Where
// it does not listen yet it is asked to by SIGQUIT, and only if it can be told beforehand that it takes the signal that
// way: it catches it, and says of itself that it can be attached to (a machine that was started with
// -XX:+DisableAttachMechanism would print all its stacks instead, one with -Xrs would die). Takes `patience` at most.
// Needs the user of the process, or root, who acts as that user meanwhile. The answer's text.
base::Result<std::string> java_command(pid_t pid, std::string_view command, std::chrono::milliseconds patience);

// Whether the counters that a Java virtual machine publishes (hsperfdata) say that it can be attached to.
bool says_attachable(base::Bytes counters);

}  // namespace tephra::kernel
