#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tephra::formats {

// The event line of a sample with all that it tells, whichever fields `perf script -F` was asked for. A line must hold
// a name, and a number of a process or a time.
struct ScriptHeader {
  std::string_view comm;
  int32_t pid = -1;
  int32_t tid = -1;
  std::optional<int32_t> cpu;
  std::optional<uint64_t> time;  // nanoseconds
  std::optional<uint64_t> period;
  std::string_view event;  // empty: none
  std::string_view rest;   // what a tracepoint tells, and the place of a sample without a stack
};

// Lines that begin with spaces have to tell a time or a CPU: else they are frames, as all are that begin with a tab.
std::optional<ScriptHeader> parse_script_header(std::string_view line);

// What comments above the samples call the event to look at first, where it is not that of the first sample:
// "# default event : cycles". Perf's readers pass over it.
inline constexpr std::string_view kScriptDefaultEvent = "default event";

// A comment that tells something: "# hostname : box".
struct ScriptFact {
  std::string_view name;
  std::string_view value;
};
std::optional<ScriptFact> parse_script_fact(std::string_view line);

// What the comments above the samples say of how far they can be trusted: "# verdict: fair. …", without the mark.
std::vector<std::string> script_verdicts(std::string_view text);

}  // namespace tephra::formats
