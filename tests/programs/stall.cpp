// A server that answers a request every millisecond, each of which takes 0.2 ms in answer_request, and once, after as
// many milliseconds as asked (1500), stalls in injected_stall for 20 ms, at real-time priority where "hog" is the second
// word, so that others wait for its CPU. Prints when it stalled (CLOCK_MONOTONIC nanoseconds). With "signal PID" it sends
// SIGUSR2 to that process afterwards, as a watchdog would. Ends 3 s after the stall.
#include <sched.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

__attribute__((noinline)) void answer_request() {
  const auto end = Clock::now() + microseconds(200);
  volatile unsigned sum = 0;
  while (Clock::now() < end) sum = sum + 1;
}

__attribute__((noinline)) void injected_stall() {
  const auto end = Clock::now() + milliseconds(20);
  volatile unsigned sum = 0;
  while (Clock::now() < end) {
    for (unsigned i = 0; i < 1000; ++i) sum = sum + i;
  }
}

void answer_until(Clock::time_point end) {
  while (Clock::now() < end) {
    answer_request();
    std::this_thread::sleep_for(milliseconds(1));
  }
}

void set_policy(int policy, int priority) {
  const sched_param parameters{priority};
  if (sched_setscheduler(0, policy, &parameters) != 0) std::perror("sched_setscheduler");
}

}  // namespace

int main(int argc, char** argv) {
  const int delay = argc > 1 ? std::atoi(argv[1]) : 1500;
  const bool hog = argc > 2 && std::strcmp(argv[2], "hog") == 0;
  const bool signals = argc > 3 && std::strcmp(argv[2], "signal") == 0;
  answer_until(Clock::now() + milliseconds(delay));
  if (hog) set_policy(SCHED_FIFO, 10);
  const auto begun = Clock::now().time_since_epoch();
  injected_stall();
  if (hog) set_policy(SCHED_OTHER, 0);
  std::printf("%lld\n", static_cast<long long>(std::chrono::nanoseconds(begun).count()));
  std::fflush(stdout);
  if (signals) kill(std::atoi(argv[3]), SIGUSR2);
  answer_until(Clock::now() + milliseconds(3000));
  return 0;
}
