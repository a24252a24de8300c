#include <array>

#include "cli/command.h"

namespace tephra::cli {

// Each command is one file, which defines its entry; the list below is the only other place to name it.
extern const Command kRecordCommand;

std::span<const Command> commands() {
  static const std::array<Command, 1> kCommands{kRecordCommand};
  return kCommands;
}

}  // namespace tephra::cli
