// flags: -fomit-frame-pointer -fno-inline
// A storm of context switches: two threads on one CPU that wait for each other by turns, three times in wait_often for
// each time in wait_seldom. `switch_storm SWITCHES [CPU]`. Prints what the kernel and the clocks say of each thread, as
// JSON: how often it gave up its CPU and how often it lost it, since it began; and from its first wait to its last: how
// often it gave up its CPU in each of the two functions, elapsed and CPU time.
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

struct Account {
  long tid = 0;
  uint64_t voluntary = 0;
  uint64_t involuntary = 0;
  uint64_t often = 0;
  uint64_t seldom = 0;
  uint64_t elapsed_ns = 0;
  uint64_t cpu_ns = 0;
};

uint64_t clock_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

rusage usage() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage;
}

void get(int fd) {
  char byte = 0;
  if (read(fd, &byte, 1) != 1) std::abort();
}

void put(int fd) {
  if (write(fd, "x", 1) != 1) std::abort();
}

}  // namespace

__attribute__((noinline)) void wait_often(int fd) {
  get(fd);
  asm volatile("" ::: "memory");
}
__attribute__((noinline)) void wait_seldom(int fd) {
  get(fd);
  asm volatile("" ::: "memory");
}

namespace {

void storm(long rounds, int from, int to, bool first, Account& account) {
  account.tid = syscall(SYS_gettid);
  const uint64_t began = clock_of(CLOCK_MONOTONIC);
  const uint64_t cpu = clock_of(CLOCK_THREAD_CPUTIME_ID);
  long before = usage().ru_nvcsw;
  for (long i = 0; i < rounds; ++i) {
    if (first) put(to);
    if (i % 4 == 0)
      wait_seldom(from);
    else
      wait_often(from);
    if (!first) put(to);
    // Counting costs a call each: what waited is known from the change of four rounds.
    if (i % 4 == 0 || i % 4 == 3) {
      const long now = usage().ru_nvcsw;
      (i % 4 == 0 ? account.seldom : account.often) += static_cast<uint64_t>(now - before);
      before = now;
    }
  }
  account.elapsed_ns = clock_of(CLOCK_MONOTONIC) - began;
  account.cpu_ns = clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
  const rusage all = usage();
  account.voluntary = static_cast<uint64_t>(all.ru_nvcsw);
  account.involuntary = static_cast<uint64_t>(all.ru_nivcsw);
}

void print(const Account& account) {
  std::printf(
      "{\"tid\": %ld, \"voluntary\": %llu, \"involuntary\": %llu, \"often\": %llu, \"seldom\": %llu, \"elapsed_ns\": "
      "%llu, "
      "\"cpu_ns\": %llu}",
      account.tid, static_cast<unsigned long long>(account.voluntary),
      static_cast<unsigned long long>(account.involuntary), static_cast<unsigned long long>(account.often),
      static_cast<unsigned long long>(account.seldom), static_cast<unsigned long long>(account.elapsed_ns),
      static_cast<unsigned long long>(account.cpu_ns));
}

}  // namespace

int main(int count, char** words) {
  const long switches = count > 1 ? std::atol(words[1]) : 100'000;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(count > 2 ? std::atoi(words[2]) : 0, &cpus);
  if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) return 1;
  int there[2];
  int back[2];
  if (pipe(there) != 0 || pipe(back) != 0) return 1;
  std::array<Account, 2> accounts;
  std::thread one([&] { storm(switches / 2, back[0], there[1], true, accounts[0]); });
  std::thread two([&] { storm(switches / 2, there[0], back[1], false, accounts[1]); });
  one.join();
  two.join();
  std::printf("[");
  print(accounts[0]);
  std::printf(", ");
  print(accounts[1]);
  std::printf("]\n");
  return 0;
}
