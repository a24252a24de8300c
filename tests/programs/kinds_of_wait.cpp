// Waits in ways that are known: `kinds_of_wait KIND [ROUNDS]`, where KIND is lock, sleep, pipe, unix, tcp, fault or
// disk (fault and disk read the file that is the third word, and drop it from the page cache first). Each round waits
// some 10 ms (a disk: as long as it takes) in wait_for_KIND. Prints "TID NANOSECONDS CPU": the waiting thread, how long
// it was in that function altogether, and for how much of this it had a CPU.
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

constexpr long kRound = 10'000'000;

uint64_t now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

void pause_for(long nanoseconds) {
  const timespec time{0, nanoseconds};
  nanosleep(&time, nullptr);
}

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
volatile char sink;

// What calls the C library, which keeps no frame pointers: walks by frame pointers miss such a caller.
__attribute__((noinline)) void take_lock() {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}
__attribute__((noinline)) void take_nap() { pause_for(kRound); }
__attribute__((noinline)) void take_byte(int from) {
  char byte = 0;
  if (syscall(SYS_read, from, &byte, 1) != 1) std::abort();
  sink = byte;
}
__attribute__((noinline)) void take_pages(int file, size_t size) {
  static char buffer[1 << 16];
  for (size_t at = 0; at < size; at += sizeof buffer) {
    if (pread(file, buffer, sizeof buffer, static_cast<off_t>(at)) < 0) std::abort();
  }
}

}  // namespace

__attribute__((noinline)) void wait_for_lock() {
  take_lock();
  sink = 1;
}
__attribute__((noinline)) void wait_for_sleep() {
  take_nap();
  sink = 2;
}
__attribute__((noinline)) void wait_for_pipe(int from) {
  take_byte(from);
  sink = 3;
}
__attribute__((noinline)) void wait_for_unix(int from) {
  take_byte(from);
  sink = 4;
}
__attribute__((noinline)) void wait_for_tcp(int from) {
  take_byte(from);
  sink = 5;
}
__attribute__((noinline)) void wait_for_fault(const char* memory, size_t size) {
  for (size_t at = 0; at < size; at += 4096) sink = memory[at];
}
__attribute__((noinline)) void wait_for_disk(int file, size_t size) {
  take_pages(file, size);
  sink = 6;
}

namespace {

uint64_t on_cpu = 0;  // of what was timed

template <class Wait>
uint64_t timed(Wait wait) {
  const uint64_t cpu = now(CLOCK_THREAD_CPUTIME_ID);
  const uint64_t begin = now();
  wait();
  const uint64_t elapsed = now() - begin;
  on_cpu += now(CLOCK_THREAD_CPUTIME_ID) - cpu;
  return elapsed;
}

// The other end of what is waited for writes after a while.
uint64_t wait_for_writer(int rounds, int ends[2], void (*wait)(int)) {
  uint64_t sum = 0;
  std::thread writer([&] {
    for (int i = 0; i < rounds; ++i) {
      pause_for(kRound);
      if (write(ends[1], "x", 1) != 1) std::abort();
    }
  });
  for (int i = 0; i < rounds; ++i) sum += timed([&] { wait(ends[0]); });
  writer.join();
  return sum;
}

uint64_t wait_for_holder(int rounds) {
  uint64_t sum = 0;
  for (int i = 0; i < rounds; ++i) {
    pthread_mutex_lock(&mutex);
    uint64_t waited = 0;
    std::thread waiter([&] { waited = timed(wait_for_lock); });
    pause_for(kRound);
    pthread_mutex_unlock(&mutex);
    waiter.join();
    sum += waited;
  }
  return sum;
}

void connect_tcp(int ends[2]) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener, 1) != 0) std::abort();
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  ends[1] = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(ends[1], reinterpret_cast<sockaddr*>(&address), size) != 0) std::abort();
  ends[0] = accept(listener, nullptr, nullptr);
}

uint64_t wait_for_file(int rounds, const char* path, bool mapped) {
  const int file = open(path, O_RDONLY);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0) std::abort();
  const auto size = static_cast<size_t>(status.st_size);
  uint64_t sum = 0;
  for (int i = 0; i < rounds; ++i) {
    fdatasync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    if (!mapped) {
      posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
      sum += timed([&] { wait_for_disk(file, size); });
      continue;
    }
    auto* memory = static_cast<char*>(mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0));
    if (memory == MAP_FAILED) std::abort();
    madvise(memory, size, MADV_RANDOM);
    sum += timed([&] { wait_for_fault(memory, size); });
    munmap(memory, size);
  }
  return sum;
}

}  // namespace

int main(int count, char** words) {
  // So that a recorder can get to know the program's code first.
  if (const char* ms = std::getenv("FIRST_WAIT_MS")) pause_for(std::atol(ms) * 1'000'000);
  const std::string kind = count > 1 ? words[1] : "";
  const int rounds = count > 2 ? std::atoi(words[2]) : 20;
  int ends[2] = {-1, -1};
  uint64_t sum = 0;
  if (kind == "lock") {
    sum = wait_for_holder(rounds);
  } else if (kind == "sleep") {
    for (int i = 0; i < rounds; ++i) sum += timed(wait_for_sleep);
  } else if (kind == "pipe" && pipe(ends) == 0) {
    sum = wait_for_writer(rounds, ends, wait_for_pipe);
  } else if (kind == "unix" && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0) {
    sum = wait_for_writer(rounds, ends, wait_for_unix);
  } else if (kind == "tcp") {
    connect_tcp(ends);
    sum = wait_for_writer(rounds, ends, wait_for_tcp);
  } else if ((kind == "fault" || kind == "disk") && count > 3) {
    sum = wait_for_file(rounds, words[3], kind == "fault");
  } else {
    std::fprintf(stderr, "usage: kinds_of_wait lock|sleep|pipe|unix|tcp|fault|disk [ROUNDS [FILE]]\n");
    return 2;
  }
  std::printf("%ld %llu %llu\n", syscall(SYS_gettid), static_cast<unsigned long long>(sum),
              static_cast<unsigned long long>(on_cpu));
  return 0;
}
