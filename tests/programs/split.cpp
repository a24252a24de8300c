// Spends 70 % of its time in heavy() and 30 % in light(), for SECONDS (default 2): the two are called in turns, and each
// spins by the thread's CPU clock.
#include <ctime>

#include <cstdio>
#include <cstdlib>

namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

volatile unsigned long sink;

// Spins without calling anything, so that the sample's leaf is the caller itself.
#define SPIN_STEPS(count)                                   \
  do {                                                      \
    unsigned long x = sink;                                 \
    for (long i = 0; i < (count); ++i) x = x * 2862933555777941757ul + 3037000493ul; \
    sink = x;                                               \
  } while (false)

[[gnu::noinline]] void heavy(long steps) { SPIN_STEPS(steps * 70); }
[[gnu::noinline]] void light(long steps) { SPIN_STEPS(steps * 30); }

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  const double end = cpu_seconds() + seconds;
  while (cpu_seconds() < end) {
    heavy(10000);
    light(10000);
  }
  std::printf("%lu\n", sink);
}
