// flags: -fomit-frame-pointer -fno-inline
// Waits of known kinds and lengths, each in a function of its own. Prints what it measured itself, a line each:
// name, nanoseconds, count. `known_waits KIND [NUMBER]`.
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// How often this thread has given up its CPU, as the kernel counts it: a sleep or a read may also be over at once.
uint64_t gave_up() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_nvcsw);
}

void told(const char* name, uint64_t ns, uint64_t count) {
  std::printf("%s %llu %llu\n", name, static_cast<unsigned long long>(ns), static_cast<unsigned long long>(count));
  std::fflush(stdout);
}

void sleep_ms(long ms) {
  timespec time{ms / 1000, (ms % 1000) * 1'000'000};
  nanosleep(&time, nullptr);
}

__attribute__((noinline)) void sleep_in_named_function(long ms) {
  sleep_ms(ms);
  asm volatile("" ::: "memory");
}

__attribute__((noinline)) void compute_until(uint64_t end) {
  while (now() < end) asm volatile("" ::: "memory");
}

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
std::atomic<int> held{0};

__attribute__((noinline)) void hold_lock(long ms) {
  pthread_mutex_lock(&lock);
  held = 1;
  sleep_ms(ms);
  held = 0;
  pthread_mutex_unlock(&lock);
  asm volatile("" ::: "memory");
}

__attribute__((noinline)) uint64_t wait_for_lock() {
  const uint64_t begin = now();
  pthread_mutex_lock(&lock);
  const uint64_t end = now();
  pthread_mutex_unlock(&lock);
  return end - begin;
}

void mutex(int rounds) {
  uint64_t waited = 0;
  std::thread holder([&] {
    for (int i = 0; i < rounds; ++i) {
      hold_lock(40);
      sleep_ms(20);
    }
  });
  for (int i = 0; i < rounds; ++i) {
    while (held == 0) sleep_ms(1);
    waited += wait_for_lock();
    while (held == 1) sleep_ms(1);
  }
  holder.join();
  told("mutex", waited, static_cast<uint64_t>(rounds));
}

__attribute__((noinline)) void wait_for_byte(int fd) {
  char byte = 0;
  if (read(fd, &byte, 1) != 1) std::_Exit(1);
  asm volatile("" ::: "memory");
}

__attribute__((noinline)) void send_byte(int fd) {
  const char byte = 1;
  if (write(fd, &byte, 1) != 1) std::_Exit(1);
  asm volatile("" ::: "memory");
}

void ping_pong(int rounds) {
  int there[2];
  int back[2];
  if (pipe(there) != 0 || pipe(back) != 0) std::_Exit(1);
  uint64_t waits_there = 0;
  std::thread other([&] {
    const uint64_t before = gave_up();
    for (int i = 0; i < rounds; ++i) {
      wait_for_byte(there[0]);
      send_byte(back[1]);
    }
    waits_there = gave_up() - before;
  });
  const uint64_t before = gave_up();
  const uint64_t begin = now();
  for (int i = 0; i < rounds; ++i) {
    send_byte(there[1]);
    wait_for_byte(back[0]);
  }
  const uint64_t elapsed = now() - begin;
  const uint64_t waits_here = gave_up() - before;
  other.join();
  told("pipe", elapsed, waits_here + waits_there);
}

__attribute__((noinline)) void asleep_all_along(int fd) {
  wait_for_byte(fd);
  asm volatile("" ::: "memory");
}

void sleeper(long ms) {
  int fds[2];
  if (pipe(fds) != 0) std::_Exit(1);
  std::thread thread([&] { asleep_all_along(fds[0]); });
  std::printf("ready\n");
  std::fflush(stdout);
  sleep_in_named_function(ms);
  send_byte(fds[1]);
  thread.join();
}

// Threads that begin, wait once and end.
void short_threads(int count) {
  uint64_t slept = 0;
  uint64_t waits = 0;
  for (int i = 0; i < count; ++i) {
    std::thread thread([&] {
      const uint64_t before = gave_up();
      const uint64_t begin = now();
      sleep_in_named_function(2);
      slept += now() - begin;
      waits += gave_up() - before;
    });
    thread.join();
  }
  told("threads", slept, waits);
}

void sleeps(int count) {
  uint64_t slept = 0;
  for (int i = 0; i < count; ++i) {
    const uint64_t begin = now();
    sleep_in_named_function(200);
    slept += now() - begin;
  }
  told("sleep", slept, static_cast<uint64_t>(count));
}

// One that computes, one that sleeps, and half of each.
void mix(long ms) {
  const uint64_t end = now() + static_cast<uint64_t>(ms) * 1'000'000;
  std::thread busy([&] { compute_until(end); });
  std::thread lazy([&] { sleep_in_named_function(ms); });
  std::printf("ready\n");
  std::fflush(stdout);
  while (now() < end) {
    compute_until(now() + 10'000'000);
    sleep_in_named_function(10);
  }
  busy.join();
  lazy.join();
  told("mix", static_cast<uint64_t>(ms) * 1'000'000, 3);
}

}  // namespace

int main(int argc, char** argv) {
  // So that a recorder can get to know the program's code first.
  if (const char* ms = std::getenv("FIRST_WAIT_MS")) sleep_ms(std::atol(ms));
  const std::string kind = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? std::atoi(argv[2]) : 10;
  if (kind == "sleep")
    sleeps(number);
  else if (kind == "mutex")
    mutex(number);
  else if (kind == "pipe")
    ping_pong(number);
  else if (kind == "sleeper")
    sleeper(number);
  else if (kind == "threads")
    short_threads(number);
  else if (kind == "mix")
    mix(number);
  else
    return 2;
  return 0;
}
