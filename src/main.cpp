#include <cstdio>
#include <string>
#include <vector>

#include "cli/command.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto status = tephra::cli::run(arguments);
  if (status) return *status;
  std::fprintf(stderr, "tephra: %s\n", status.error().message().c_str());
  return status.error().kind == tephra::base::Error::Kind::kUsage ? tephra::cli::kExitUsage
                                                                  : tephra::cli::kExitFailed;
}
