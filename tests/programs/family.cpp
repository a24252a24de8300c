// Spins in two threads, in a forked child, and in a program that a second child executes (itself, as "member"), each
// for as many milliseconds as asked (200). Exits with the status given second (0).
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

__attribute__((noinline)) void spin(int milliseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  volatile unsigned sum = 0;
  while (std::chrono::steady_clock::now() < end) {
    for (unsigned i = 0; i < 10'000; ++i) sum = sum + i;
  }
}
__attribute__((noinline)) void in_thread(int milliseconds) {
  spin(milliseconds);
  asm volatile("");
}
__attribute__((noinline)) void in_forked(int milliseconds) {
  spin(milliseconds);
  asm volatile("");
}
__attribute__((noinline)) void in_executed(int milliseconds) {
  spin(milliseconds);
  asm volatile("");
}

int main(int argc, char** argv) {
  const int milliseconds = argc > 1 ? std::atoi(argv[1]) : 200;
  if (argc > 2 && std::strcmp(argv[2], "member") == 0) {
    in_executed(milliseconds);
    return 0;
  }
  if (fork() == 0) {
    in_forked(milliseconds);
    _exit(0);
  }
  if (fork() == 0) {
    execl("/proc/self/exe", "member", std::to_string(milliseconds).c_str(), "member", nullptr);
    _exit(127);
  }
  std::thread first(in_thread, milliseconds);
  std::thread second(in_thread, milliseconds);
  first.join();
  second.join();
  while (wait(nullptr) > 0) {
  }
  return argc > 2 ? std::atoi(argv[2]) : 0;
}
