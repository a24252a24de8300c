// Starts a thread every millisecond, each of which spins for 30 ms and starts nothing, while one chain of threads
// starts its own successors. Ends after as many milliseconds as asked (1000).
#include <chrono>
#include <cstdlib>
#include <thread>

using Clock = std::chrono::steady_clock;

__attribute__((noinline)) void spin_until(Clock::time_point end) {
  volatile unsigned sum = 0;
  while (Clock::now() < end) {
    for (unsigned i = 0; i < 1000; ++i) sum = sum + i;
  }
}

void chain(Clock::time_point end) {
  spin_until(Clock::now() + std::chrono::milliseconds(5));
  if (Clock::now() < end) std::thread(chain, end).detach();
}

int main(int argc, char** argv) {
  const auto end = Clock::now() + std::chrono::milliseconds(argc > 1 ? std::atoi(argv[1]) : 1000);
  std::thread(chain, end).detach();
  while (Clock::now() < end) {
    std::thread([] { spin_until(Clock::now() + std::chrono::milliseconds(30)); }).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return 0;
}
