#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stream/jit_log.h"

namespace tephra::stream {

struct Recording;

// That a process may have generated code: executable memory without a file, or the marker by which a jitdump makes
// itself known.
struct JitTrace {
  int32_t pid = 0;
  std::string jitdump;  // its path; empty: memory without a file
  uint64_t since = 0;   // the moment at which the process last began to run a program
  uint64_t until = 0;   // about the moment of the recording's last sample; 0 where it has no times
  auto operator<=>(const JitTrace&) const = default;
};

// Looks for the files in which processes named their code. Null: there are none.
using JitFinder = std::function<std::shared_ptr<const JitLog>(const Recording&, const std::vector<JitTrace>&)>;

// User mappings that have no file behind them, by what the kernel calls them.
bool is_anonymous_memory(std::string_view path);

// A program that writes a jitdump maps it, so that a recorder learns of it: ".../jit-PID.dump".
bool is_jitdump_path(std::string_view path);

}  // namespace tephra::stream
