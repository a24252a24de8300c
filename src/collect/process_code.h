#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tephra::collect {

// A piece of a process's memory that holds code.
struct CodeMapping {
  enum class Kind {
    kFile,
    kVdso,
    kGenerated,  // no file: made at run time
  };

  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t offset = 0;  // in the file
  Kind kind = Kind::kGenerated;
  uint32_t major = 0;
  uint32_t minor = 0;
  uint64_t inode = 0;
  std::string path;  // as the process sees it

  bool operator==(const CodeMapping&) const = default;
};

// Where the code of a process is, and what tells that it is still the same program (see abi/stack_walk.h).
struct ProcessCode {
  uint64_t start_code = 0;
  uint64_t start_stack = 0;
  std::vector<CodeMapping> mappings;  // by address

  bool operator==(const ProcessCode&) const = default;
};

// What /proc tells of a process. `tid`: any of its threads, since that of the first shows nothing once it has ended.
// Nothing: it is gone, has no memory of its own, or is not ours to look at.
std::optional<ProcessCode> read_process_code(pid_t pid, pid_t tid);

// Parts of it: the executable pieces of /proc/PID/maps, and the two numbers of /proc/PID/stat.
std::vector<CodeMapping> parse_code_mappings(std::string_view maps);
bool parse_program_marks(std::string_view stat, ProcessCode& code);

}  // namespace tephra::collect
