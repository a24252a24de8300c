// flags: -O1
// Threads, a child process, recursion, templates and system calls for about half a second: something of everything that
// a report has to keep apart.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

volatile uint64_t sink;

__attribute__((noinline)) void hot() {
  for (int i = 0; i < 100000; ++i) sink = sink + static_cast<uint64_t>(i) * i;
}

__attribute__((noinline)) void cold() {
  for (int i = 0; i < 40000; ++i) sink = sink ^ static_cast<uint64_t>(i);
}

__attribute__((noinline)) void recurse(int depth) {
  if (depth > 0) {
    recurse(depth - 1);
  } else {
    hot();
  }
  sink = sink + 1;
}

template <class T>
__attribute__((noinline)) void sort_numbers(T count) {
  std::vector<T> numbers(static_cast<size_t>(count));
  for (T i = 0; i < count; ++i) numbers[static_cast<size_t>(i)] = (i * 7919) % count;
  std::sort(numbers.begin(), numbers.end(), [](T a, T b) { return a > b; });
  sink = sink + static_cast<uint64_t>(numbers[0]);
}

__attribute__((noinline)) void work(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    hot();
    cold();
    recurse(5);
    sort_numbers<int>(2000);
    sort_numbers<long>(1000);
    for (int i = 0; i < 100; ++i) sink = sink + static_cast<uint64_t>(getppid());
  }
}

}  // namespace

int main() {
  std::thread thread([] { work(0.3); });
  if (fork() == 0) {
    work(0.25);
    _exit(0);
  }
  work(0.25);
  thread.join();
  wait(nullptr);
}
