#pragma once

#include <string_view>

#include "base/result.h"
#include "stream/sample_reading.h"

namespace tephra::stream {

// What system calls are shown as: how many there were, and how long they took. The label kCallLabel is the name.
inline constexpr std::string_view kSyscallCounts = "syscall-count";
inline constexpr std::string_view kSyscallTimes = "syscall-time";
inline constexpr std::string_view kCallLabel = "call";

// An entry of add_readings: where a recording holds sums of system calls (the event `syscalls`, whose raw data
// abi/activity_record.h describes).
base::Status add_syscall_reading(Recording& recording, const ReadingOptions& options);

}  // namespace tephra::stream
