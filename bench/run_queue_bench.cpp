// What watching run queue latency costs: two processes on one CPU hand a byte back and forth, which is two context
// switches and two wake-ups each time, without and with the program in the scheduler.
//
//     run_queue_bench [ROUNDS]
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "kernel/run_queue_program.h"

namespace {

using tephra::kernel::RunQueueProgram;

constexpr int kExchanges = 100'000;

void pin_to_last_cpu() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  int last = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) last = cpu;
  }
  CPU_ZERO(&allowed);
  CPU_SET(last, &allowed);
  ::sched_setaffinity(0, sizeof allowed, &allowed);
}

double cpu_ns(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto ns = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e9 + 1e3 * static_cast<double>(time.tv_usec);
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}
double all_cpu_ns() { return cpu_ns(RUSAGE_SELF) + cpu_ns(RUSAGE_CHILDREN); }

// CPU time of a switch with what goes with it, of both processes together: other load on the machine does not count.
double switch_ns() {
  int to_child[2];
  int to_parent[2];
  if (::pipe2(to_child, O_CLOEXEC) != 0 || ::pipe2(to_parent, O_CLOEXEC) != 0) std::abort();
  const double begin = all_cpu_ns();
  const pid_t child = ::fork();
  char byte = 0;
  for (int i = 0; i < kExchanges; ++i) {
    const bool parent = child != 0;
    if (parent && ::write(to_child[1], &byte, 1) != 1) std::abort();
    if (::read(parent ? to_parent[0] : to_child[0], &byte, 1) != 1) std::abort();
    if (!parent && ::write(to_parent[1], &byte, 1) != 1) std::abort();
  }
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  const double used = all_cpu_ns() - begin;
  for (const int fd : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) ::close(fd);
  return used / (2.0 * kExchanges);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  pin_to_last_cpu();
  std::vector<double> plain;
  std::vector<double> usual;
  std::vector<double> table;
  // In turns, so that a change of the machine's speed hits all of them.
  for (int i = 0; i < rounds; ++i) {
    plain.push_back(switch_ns());
    for (const bool with_table : {false, true}) {
      const auto program = RunQueueProgram::start({.threshold = std::chrono::seconds(10), .table = with_table});
      if (!program.ok()) {
        fmt::print(stderr, "{}\n", program.error().message());
        return 1;
      }
      if ((*program)->uses_table() == with_table) (with_table ? table : usual).push_back(switch_ns());
    }
  }
  const auto show = [&](const char* name, const std::vector<double>& values) {
    if (values.empty()) return;
    fmt::print("{:<28} {:7.0f} ns a switch  (best {:.0f}), {:+.0f} ns\n", name, median(values),
               *std::min_element(values.begin(), values.end()), median(values) - median(plain));
  };
  show("without", plain);
  show("with, the usual way", usual);
  show("with a table (old kernels)", table);
}
