// Spins under a thread name made to break file names and terminals, until it is killed or 20 seconds are over.
#include <sys/prctl.h>

#include <chrono>
#include <cstdio>

int main() {
  prctl(PR_SET_NAME, "../a/\nb\x1b[31m;c", 0, 0, 0);
  std::puts("ready");
  std::fflush(stdout);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  volatile unsigned sum = 0;
  while (std::chrono::steady_clock::now() < end) sum = sum + 1;
}
