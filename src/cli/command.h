#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tephra::cli {

// A command of the program. `run` gets the words after the command's name and returns the exit status, or the error
// that main prints.
struct Command {
  std::string_view name;
  std::string_view summary;
  base::Result<int> (*run)(std::span<const std::string> arguments);
};

// All commands, in the order help shows them.
std::span<const Command> commands();

// Finds and runs the command that `arguments` (without the program's name) names; prints help where that was asked for.
base::Result<int> run(std::span<const std::string> arguments);

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitBadVerdict = 3;
inline constexpr int kExitRegression = 4;

}  // namespace tephra::cli
