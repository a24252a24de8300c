#include <array>

#include "cli/command.h"

namespace tephra::cli {

// Each command is one file, which defines its entry; this list is the only other place that names it.
extern const Command kFoldCommand;
extern const Command kReportCommand;
extern const Command kScriptCommand;
extern const Command kRecordCommand;

std::span<const Command> commands() {
  static const std::array kCommands{kRecordCommand, kReportCommand, kScriptCommand, kFoldCommand};
  return kCommands;
}

}  // namespace tephra::cli
