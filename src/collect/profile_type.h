#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collect/off_cpu_settings.h"
#include "collect/recorder.h"
#include "kernel/event_spec.h"

namespace tephra::collect {

// What the user asked of the types of a profile, beside the target and the stacks, which are the same for all of them.
struct TypeSettings {
  std::vector<kernel::EventSpec> events;  // to be sampled in the place of the usual one; of `cpu` alone
  std::optional<uint64_t> frequency;      // as asked for, else not given
  std::optional<uint64_t> period;
  bool minor_faults = false;  // of `mem`: these alone; neither or both: all
  bool major_faults = false;
  OffCpuSettings off_cpu;
};

// Which table tells most of a type on the screen.
enum class TypeTable {
  kFunctions,  // those that took most
  kWaits,      // where threads waited, and for what; values are times
  kMemory,     // functions, and what became resident
  kCalls,      // system calls, by count and by time
  kIo,         // requests to devices and calls on files, which have a picture each
  kTcp,        // what happened over TCP, with whom, and functions
};

// A kind of profile: what is recorded for it, and what of the recording shows it. One file each (type_NAME.cpp).
struct ProfileType {
  std::string_view name;     // as in `tephra profile -t NAME`
  std::string_view summary;  // for the help: "CPU time"
  std::string_view title;    // of pictures: "CPU profile"
  // Adds what it needs to a recording, beside what other types have added. Returns the name of the event that shows it
  // when the recording is read; empty: the first that has samples. Rates go into the events, so that types can be
  // recorded together.
  base::Result<std::string> (*add)(const TypeSettings& settings, RecordOptions& options);
  // What did not happen when there are no samples, and what to try: "no context switches", "Try ...". Null: as for cpu.
  base::Error (*nothing_seen)(double seconds) = nullptr;
  TypeTable table = TypeTable::kFunctions;
};

// All types, in the order of the help.
std::span<const ProfileType* const> profile_types();

// By name; the error lists what there is.
base::Result<const ProfileType*> find_profile_type(std::string_view name);

}  // namespace tephra::collect
