#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>

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

// What a command printed counts only once it is out. Exceptions are those of the standard library: errors of ours are
// values.
base::Result<int> run_guarded(const Command& command, std::span<const std::string> arguments) {
  try {
    auto status = command.run(arguments);
    errno = 0;
    if (status && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)) {
      return base::system_error("cannot write", "standard output", errno != 0 ? errno : EIO);
    }
    return status;
  } catch (const std::bad_alloc&) {
    return base::failed("out of memory", std::string(command.name), "", "Give it more, or read a smaller recording.");
  } catch (const std::exception& error) {
    return base::failed("cannot go on", std::string(command.name), error.what());
  }
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
  if (name == "--version" || name == "-V" || name == "version") {
    std::puts("tephra " TEPHRA_VERSION);
    return kExitDone;
  }
  const auto all = commands();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Command& c) { return c.name == name; });
  if (found == all.end()) {
    return base::usage_error("no such command", name, "", "Run 'tephra --help' for the list.");
  }
  return run_guarded(*found, arguments.subspan(1));
}

}  // namespace tephra::cli
