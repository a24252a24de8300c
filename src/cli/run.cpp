#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "cli/command.h"

namespace tephra::cli {
namespace {

std::string overview() {
  std::string text =
      "tephra: a profiler for Linux, from a running program to a picture in one command\n\n"
      "usage: tephra COMMAND [OPTIONS]\n\n";
  for (const Command& command : commands()) text += fmt::format("  {:<10} {}\n", command.name, command.summary);
  text +=
      "\nexamples:\n"
      "  tephra profile -t cpu -p 1234 -d 30     profile a running process for 30 seconds\n"
      "  tephra profile -t cpu -- ./server       profile a program from its start\n"
      "\n'tephra COMMAND --help' tells more about a command.\n";
  return text;
}

}  // namespace

base::Result<int> run(std::span<const std::string> arguments) {
  if (arguments.empty()) {
    std::fputs(overview().c_str(), stderr);
    return kExitUsage;
  }
  const std::string& name = arguments[0];
  if (name == "--help" || name == "-h" || name == "help") {
    if (arguments.size() > 1 && name == "help") return run(std::array{arguments[1], std::string("--help")});
    std::fputs(overview().c_str(), stdout);
    return kExitDone;
  }
  if (name == "--version" || name == "version") {
    std::puts("tephra " TEPHRA_VERSION);
    return kExitDone;
  }
  const auto all = commands();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Command& c) { return c.name == name; });
  if (found == all.end()) {
    return base::usage_error("no such command", name, "", "Run 'tephra --help' for the list.");
  }
  return found->run(arguments.subspan(1));
}

}  // namespace tephra::cli
