// Forks as many children as asked (10000), at most 100 at a time, each of which touches one new page and ends. With a
// second word "exec" each child executes this program as a child that only ends. Prints how many ended well.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

volatile char pages[1 << 16];

int end_one(int& running) {
  int status = 0;
  if (wait(&status) <= 0) return 0;
  --running;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "child") == 0) return 0;
  const int children = argc > 1 ? std::atoi(argv[1]) : 10'000;
  const bool execs = argc > 2 && std::strcmp(argv[2], "exec") == 0;
  int running = 0;
  int good = 0;
  for (int i = 0; i < children; ++i) {
    while (running >= 100) good += end_one(running);
    const pid_t pid = fork();
    if (pid < 0) {
      std::perror("fork");
      return 1;
    }
    if (pid == 0) {
      if (execs) execl("/proc/self/exe", "storm_child", "child", nullptr);
      pages[8192] = 1;
      _exit(execs ? 127 : 0);
    }
    ++running;
  }
  while (running > 0) good += end_one(running);
  std::printf("%d\n", good);
  return good == children ? 0 : 1;
}
