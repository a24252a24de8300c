#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "base/result.h"
#include "collect/target.h"

namespace tephra::cli {

// The words that say what is recorded, for every command that records. Letters that differ between commands are
// declared by the command.
struct TargetFlags {
  std::string processes;
  std::string threads;
  std::string cpus;
  std::string user;
  std::string cgroups;
  std::string container;
  bool all_cpus = false;
  bool no_inherit = false;

  // -a -p -C -u -G --container -i
  void declare(CLI::App& parser);
};

// An option that may be repeated, each time with one or more values: they are joined with commas.
CLI::Option* joined(CLI::Option* option);

// Looks up what the words name. `command` stands for itself, or beside another target tells how long; `thread_option`
// is for messages.
base::Result<collect::Target> find_target(const TargetFlags& flags, std::vector<std::string> command,
                                          const char* thread_option);

}  // namespace tephra::cli
