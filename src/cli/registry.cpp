#include <array>

#include "cli/command.h"

namespace tephra::cli {

// Each command is one file, which defines its entry; this list is the only other place that names it.
extern const Command kArchiveCommand;
extern const Command kConvertCommand;
extern const Command kDiffCommand;
extern const Command kDoctorCommand;
extern const Command kFlameCommand;
extern const Command kFoldCommand;
extern const Command kProfileCommand;
extern const Command kRecordCommand;
extern const Command kReportCommand;
extern const Command kSchedCommand;
extern const Command kScriptCommand;

std::span<const Command> commands() {
  static const std::array kCommands{kProfileCommand, kRecordCommand,  kReportCommand, kFlameCommand,
                                    kDiffCommand,    kFoldCommand,    kScriptCommand, kSchedCommand,
                                    kConvertCommand, kArchiveCommand, kDoctorCommand};
  return kCommands;
}

}  // namespace tephra::cli
