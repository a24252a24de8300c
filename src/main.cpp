#include <fcntl.h>

#include <cstdio>
#include <string>
#include <vector>

#include "cli/command.h"

namespace {

// Where our caller closed one of the three, the next file we open would take its place and get what is printed. Standard
// output stays one that cannot be written to.
void fill_standard_descriptors() {
  for (int fd = 0; fd < 3; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_descriptors();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto status = tephra::cli::run(arguments);
  if (status) return *status;
  std::fprintf(stderr, "tephra: %s\n", status.error().message().c_str());
  return status.error().kind == tephra::base::Error::Kind::kUsage ? tephra::cli::kExitUsage
                                                                  : tephra::cli::kExitFailed;
}
