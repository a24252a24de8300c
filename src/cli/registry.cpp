#include <array>

#include "cli/command.h"

namespace tephra::cli {

// Each command is one file, which defines its entry; the list below is the only other place to name it.

std::span<const Command> commands() {
  static const std::array<Command, 0> kCommands{};
  return kCommands;
}

}  // namespace tephra::cli
