// flags: -fomit-frame-pointer -momit-leaf-frame-pointer
// Works for as many milliseconds of CPU time as asked, in one of the ways that make stacks hard to walk:
//   unwind_cases CASE MILLISECONDS [PLUGIN or DEPTH]
// Every stack leads through a function named after the case: case_recursion, case_exceptions … It is also built in other
// ways: by clang, static, not position independent.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <alloca.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE [[gnu::noinline]]

// CPU time of the process, so that a busy machine makes no difference.
static double seconds_used() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

static double until;
static bool time_left() {
  // Asking is a system call.
  static thread_local unsigned asked = 0;
  return ++asked % 16 != 0 || seconds_used() < until;
}

// What all cases do in the end, without a frame of its own.
NOINLINE unsigned work(unsigned steps) {
  unsigned sum = steps;
  for (unsigned i = 0; i < steps; ++i) {
    asm volatile("" : "+r"(sum));
    sum = sum * 1664525 + 1013904223;
  }
  return sum;
}

NOINLINE unsigned descend(unsigned depth) {
  if (depth == 0) return work(2000);
  unsigned below = descend(depth - 1);
  asm volatile("" : "+r"(below));  // or the compiler would make it a loop
  return below * 3 + depth;
}
NOINLINE unsigned case_recursion() {
  unsigned sum = 0;
  for (unsigned depth = 0; time_left(); depth = (depth + 7) % 90) sum += descend(depth);
  return sum;
}

// Some of the time goes into working, because there is a moment in which no stack can be walked: when libgcc has found
// the handler it overwrites its own frame with where it will go on.
NOINLINE unsigned thrower(unsigned depth) {
  if (depth == 0) {
    if (work(2500) == 12345) return 0;
    throw std::runtime_error("thrown");
  }
  unsigned below = thrower(depth - 1);
  asm volatile("" : "+r"(below));
  return below + work(50);
}
NOINLINE unsigned case_exceptions() {
  unsigned sum = 0;
  while (time_left()) {
    try {
      sum += thrower(sum % 12);
    } catch (const std::exception& error) {
      sum += work(500) + static_cast<unsigned>(std::strlen(error.what()));
    }
  }
  return sum;
}

NOINLINE unsigned case_lambdas() {
  std::vector<unsigned> values(300);
  unsigned sum = 0;
  while (time_left()) {
    std::generate(values.begin(), values.end(), [&sum] { return sum = work(3); });
    std::function<bool(unsigned, unsigned)> less = [](unsigned a, unsigned b) { return work(2) % 2 ? a < b : a < b; };
    std::sort(values.begin(), values.end(), less);
    sum += values[7];
  }
  return sum;
}

NOINLINE unsigned tail_two(unsigned steps) { return work(steps + 1); }
NOINLINE unsigned tail_one(unsigned steps) { return tail_two(steps * 2); }
NOINLINE unsigned case_tail() {
  unsigned sum = 0;
  while (time_left()) sum += tail_one(1000);
  return sum;
}

NOINLINE unsigned on_the_stack(unsigned bytes) {
  auto* room = static_cast<char*>(alloca(bytes));
  std::memset(room, static_cast<int>(bytes), bytes);
  asm volatile("" : : "r"(room) : "memory");
  return work(1500) + static_cast<unsigned char>(room[bytes / 2]);
}
NOINLINE unsigned case_alloca() {
  unsigned sum = 0;
  for (unsigned bytes = 16; time_left(); bytes = bytes % 20000 + 333) sum += on_the_stack(bytes);
  return sum;
}

static volatile unsigned handled;
NOINLINE void on_signal(int) { handled = handled + work(3000); }
NOINLINE unsigned case_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGUSR1, &action, nullptr);
  // One of a timer too, which comes in the middle of code.
  sigaction(SIGVTALRM, &action, nullptr);
  timer_t timer{};
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGVTALRM;
  const itimerspec period{{0, 700'000}, {0, 700'000}};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) timer_settime(timer, 0, &period, nullptr);
  unsigned sum = 0;
  while (time_left()) {
    raise(SIGUSR1);
    sum += descend(5);
  }
  return sum + handled;
}

NOINLINE void* thread_body(void*) {
  unsigned sum = 0;
  while (time_left()) sum += descend(9);
  return reinterpret_cast<void*>(static_cast<uintptr_t>(sum));
}
NOINLINE unsigned case_threads() {
  pthread_t threads[3];
  for (pthread_t& each : threads) pthread_create(&each, nullptr, thread_body, nullptr);
  for (pthread_t& each : threads) pthread_join(each, nullptr);
  return 1;
}

NOINLINE unsigned case_plugin(const char* path) {
  unsigned sum = 0;
  // Loaded when it already runs, and again, perhaps elsewhere.
  for (int round = 0; time_left(); ++round) {
    void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 0;
    }
    auto* call = reinterpret_cast<unsigned (*)(unsigned (*)(unsigned), unsigned)>(dlsym(plugin, "plugin_work"));
    const double end = std::min(until, seconds_used() + 0.25);
    while (call != nullptr && seconds_used() < end) sum += call(work, 8);
    dlclose(plugin);
  }
  return sum;
}

NOINLINE unsigned case_vdso() {
  unsigned sum = 0;
  while (time_left()) {
    for (int i = 0; i < 100; ++i) {
      timespec now{};
      clock_gettime(CLOCK_REALTIME, &now);
      sum += static_cast<unsigned>(now.tv_nsec);
    }
  }
  return sum;
}

// Short calls into another library, so that many samples are in stubs of the linkage table.
NOINLINE unsigned case_plt() {
  unsigned sum = 0;
  const char text[] = "short";
  while (time_left()) {
    for (int i = 0; i < 1000; ++i) {
      const char* hidden = text;
      asm volatile("" : "+r"(hidden));
      sum += static_cast<unsigned>(::strlen(hidden)) + static_cast<unsigned>(::toupper(static_cast<int>(sum & 63)));
    }
  }
  return sum;
}

NOINLINE unsigned case_memcpy() {
  static char from[1 << 16];
  static char to[1 << 16];
  unsigned sum = 0;
  while (time_left()) {
    for (int i = 0; i < 50; ++i) {
      std::memmove(to, from, sizeof to - static_cast<unsigned>(i));
      asm volatile("" : : "r"(to) : "memory");
    }
    sum += static_cast<unsigned char>(to[sum % sizeof to]);
  }
  return sum;
}

// Always as deep, for measuring.
NOINLINE unsigned case_depth(unsigned depth) {
  unsigned sum = 0;
  while (time_left()) sum += descend(depth);
  return sum;
}

// Where a recorder needs longer to learn of a program than the program runs, as in emulation, it is given time for it.
static void wait_for_recorder() {
  const char* milliseconds = std::getenv("UNWIND_CASES_WAIT_MS");
  if (milliseconds != nullptr) ::usleep(static_cast<useconds_t>(std::atoi(milliseconds)) * 1000);
}

int main(int argc, char** argv) {
  wait_for_recorder();
  const std::string name = argc > 1 ? argv[1] : "recursion";
  until = seconds_used() + (argc > 2 ? std::atof(argv[2]) : 500) / 1000;
  const std::string more = argc > 3 ? argv[3] : "";
  const std::map<std::string, unsigned (*)()> cases{
      {"recursion", case_recursion}, {"exceptions", case_exceptions}, {"lambdas", case_lambdas}, {"tail", case_tail},
      {"alloca", case_alloca},       {"signals", case_signals},       {"threads", case_threads}, {"vdso", case_vdso},
      {"plt", case_plt},             {"memcpy", case_memcpy}};
  if (name == "plugin") return case_plugin(more.c_str()) == 0;
  if (name == "depth") return case_depth(static_cast<unsigned>(std::atoi(more.c_str()))) == 12345;
  const auto found = cases.find(name);
  if (found == cases.end()) return 2;
  return found->second() == 12345;
}
