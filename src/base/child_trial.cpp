#include "base/child_trial.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace tephra::base {
namespace {

constexpr rlim_t kMostSeconds = 5;
constexpr int kDone = 0;

[[noreturn]] void run_as_child(const std::function<void()>& work) {
  const rlimit no_core{0, 0};
  const rlimit time{kMostSeconds, kMostSeconds};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::setrlimit(RLIMIT_CPU, &time);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
  work();
  ::_exit(kDone);
}

}  // namespace

bool comes_through(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) run_as_child(work);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == kDone;
}

}  // namespace tephra::base
