#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/profile.h"

namespace tephra::stream {

// What the recorder knew about itself and has no place in perf's sections: the content of feature kFeatureTephraFacts,
// lines of `key=value`. A fact that was not measured is absent.
struct RecorderFacts {
  std::optional<int64_t> recorder_pid;
  std::optional<double> recorder_cpu_seconds;
  std::optional<uint64_t> wakeups;          // of the recorder
  std::optional<double> steal_seconds;      // the hypervisor ran something else, over the CPUs watched
  std::optional<double> cpu_seconds_total;  // of the CPUs watched: their number times the duration
  std::optional<uint64_t> lost_ring_full;   // records for which a ring had no room
  std::optional<uint64_t> late_writes;      // writes that took so long that rings could fill
  std::optional<uint64_t> counters_run_on;  // 1: counters did not begin at zero when this file began
  std::optional<std::string> engine;        // how stacks were taken
  // Where stacks are walked in the kernel: how many were, how many were copied instead because tables were not ready,
  // how many found no room, what the tables took at the end, and how often there was no room for one.
  std::optional<uint64_t> stacks_walked;
  std::optional<uint64_t> stacks_copied;
  std::optional<uint64_t> stacks_lost;
  std::optional<uint64_t> table_bytes;
  std::optional<uint64_t> tables_refused;
  // Where the size of stack copies was the recorder's to choose: for each size, in the order of use, the bytes, the
  // samples and how many of them were cut, as in "16384:900:31,36864:5120:4".
  std::optional<std::string> copy_sizes;
  std::map<std::string, std::string> others;  // keys of other versions

  bool operator==(const RecorderFacts&) const = default;
};

// One line a fact. A line break in a value is written as \n and a backslash as two, so a value never ends its line.
std::string print_facts(const RecorderFacts& facts);

// The text of RecorderFacts::copy_sizes. Reading stops where it makes no sense.
std::string print_copy_sizes(const std::vector<model::CopySize>& sizes);
std::vector<model::CopySize> parse_copy_sizes(std::string_view text);

// Reads as many lines as make sense. A known key with a value that is no number goes to `others` too; a line without
// '=' is skipped.
RecorderFacts parse_facts(std::string_view text);

}  // namespace tephra::stream
