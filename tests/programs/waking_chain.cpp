// flags: -fomit-frame-pointer -fno-inline
// Three threads of which each wakes the next: the first sleeps, and wakes the second in wake_second; the second waits
// in wait_for_first, and wakes the third in wake_third, which waits in wait_for_second. `waking_chain [ROUNDS]`. Prints
// the third's thread, how long it waited as it measured itself, and how often: "TID NANOSECONDS COUNT".
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

void get(int fd) {
  char byte = 0;
  if (read(fd, &byte, 1) != 1) std::abort();
}

void put(int fd) {
  if (write(fd, "x", 1) != 1) std::abort();
}

}  // namespace

// What follows each call keeps it from being a jump, which would hide the function from stacks.
__attribute__((noinline)) void wake_second(int fd) {
  put(fd);
  asm volatile("" ::: "memory");
}
__attribute__((noinline)) void wait_for_first(int fd) {
  get(fd);
  asm volatile("" ::: "memory");
}
__attribute__((noinline)) void wake_third(int fd) {
  put(fd);
  asm volatile("" ::: "memory");
}
__attribute__((noinline)) void wait_for_second(int fd) {
  get(fd);
  asm volatile("" ::: "memory");
}

int main(int count, char** words) {
  // So that a recorder can get to know the program's code first.
  if (const char* ms = std::getenv("FIRST_WAIT_MS")) usleep(static_cast<useconds_t>(std::atoi(ms)) * 1000);
  const int rounds = count > 1 ? std::atoi(words[1]) : 20;
  int first[2];
  int second[2];
  if (pipe(first) != 0 || pipe(second) != 0) return 1;
  std::thread second_thread([&] {
    for (int i = 0; i < rounds; ++i) {
      wait_for_first(first[0]);
      wake_third(second[1]);
    }
  });
  std::thread third_thread([&] {
    uint64_t waited = 0;
    for (int i = 0; i < rounds; ++i) {
      const uint64_t begin = now();
      wait_for_second(second[0]);
      waited += now() - begin;
    }
    std::printf("%ld %llu %d\n", syscall(SYS_gettid), static_cast<unsigned long long>(waited), rounds);
  });
  for (int i = 0; i < rounds; ++i) {
    const timespec pause{0, 20'000'000};
    nanosleep(&pause, nullptr);
    wake_second(first[1]);
  }
  second_thread.join();
  third_thread.join();
  return 0;
}
