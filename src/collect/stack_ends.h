#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tephra::collect {

// Where the stacks of processes end, by what /proc tells of their memory: the end of the mapping that holds the stack
// pointer, which is where the copy of a stack ends too. The first thread's stack ends where the program's arguments
// begin, which lie in the same mapping.
//
// It is an upper bound: the stacks of other threads have their own data above, and may lie in one mapping with others.
class StackEnds {
 public:
  // Where processes are looked up; replaced in tests.
  struct Source {
    std::function<std::string(pid_t)> maps;                         // the text of /proc/PID/maps; empty: unknown
    std::function<std::optional<uint64_t>(pid_t)> first_stack_end;  // of the first thread
  };
  StackEnds();
  explicit StackEnds(Source source) : source_(std::move(source)) {}

  // Nothing where it is not known. `time` in nanoseconds, of the sample: processes are read again when a stack pointer
  // lies outside what is known of them, but only so often a second.
  std::optional<uint64_t> end_of(pid_t pid, uint64_t stack_pointer, uint64_t time);

 private:
  struct Range {
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t stack_end = 0;  // at or below `end`
  };
  using Ranges = std::vector<Range>;

  bool may_read(uint64_t time);
  Ranges read(pid_t pid) const;

  Source source_;
  std::unordered_map<pid_t, Ranges> processes_;
  uint64_t second_ = 0;
  int reads_ = 0;  // in that second
};

}  // namespace tephra::collect
