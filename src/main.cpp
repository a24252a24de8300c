#include <fcntl.h>
#include <signal.h>

#include <cstdio>
#include <string>
#include <vector>

#include "cli/command.h"

namespace {

// Where our caller closed one of the three, the next file we open would take its place and get what is printed.
// Standard output stays one that cannot be written to.
void fill_standard_descriptors() {
  for (int fd = 0; fd < 3; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY);
  }
}

// A limit on the size of files is an answer to a write, not an end that leaves half a file behind. A handler, not
// SIG_IGN: a program that we start would inherit that.
void outlive_file_size_limit() {
  struct sigaction action {};
  if (::sigaction(SIGXFSZ, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  (void)::sigaction(SIGXFSZ, &action, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_descriptors();
  outlive_file_size_limit();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto status = tephra::cli::run(arguments);
  if (status) return *status;
  std::fprintf(stderr, "tephra: %s\n", status.error().message().c_str());
  return status.error().kind == tephra::base::Error::Kind::kUsage ? tephra::cli::kExitUsage : tephra::cli::kExitFailed;
}
