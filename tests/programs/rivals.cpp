// Threads that compete for one CPU, and say themselves what happened, as JSON.
//   rivals share MS         two threads spin on one CPU, each until so much time has passed
//   rivals bully MS COUNT   a thread of higher priority takes the CPU from a spinning one, COUNT times for MS
//   rivals pingpong N       two threads on one CPU wake each other N times through pipes
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

int g_cpu = 0;

uint64_t now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

void become(const char* name, int fifo_priority) {
  pthread_setname_np(pthread_self(), name);
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(g_cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
  if (fifo_priority == 0) return;
  sched_param parameter{};
  parameter.sched_priority = fifo_priority;
  if (sched_setscheduler(0, SCHED_FIFO, &parameter) != 0) {
    std::perror("sched_setscheduler");
    std::_Exit(77);
  }
}

struct Told {
  int tid = 0;
  uint64_t cpu_ns = 0;
  uint64_t longest_gap_ns = 0;  // between two looks at the clock
  uint64_t longest_spin_ns = 0;
  long voluntary = 0;
  long involuntary = 0;
  // What the kernel counts of the thread since it began; 0 where it does not.
  uint64_t ran_ns = 0;
  uint64_t queued_ns = 0;
};

void conclude(Told& told, uint64_t cpu_before) {
  told.tid = static_cast<int>(syscall(SYS_gettid));
  told.cpu_ns = now(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
  sched_yield();  // the kernel's sums are up to date as of the last switch
  if (std::FILE* const file = std::fopen("/proc/thread-self/schedstat", "r")) {
    if (std::fscanf(file, "%lu %lu", &told.ran_ns, &told.queued_ns) != 2) told.ran_ns = told.queued_ns = 0;
    std::fclose(file);
  }
  // Last, so that little comes after it that a recorder sees and this does not.
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  told.voluntary = usage.ru_nvcsw;
  told.involuntary = usage.ru_nivcsw;
}

void spin(uint64_t nanoseconds, Told& told) {
  const uint64_t begin = now();
  uint64_t last = begin;
  while (last - begin < nanoseconds) {
    const uint64_t next = now();
    if (next - last > told.longest_gap_ns) told.longest_gap_ns = next - last;
    last = next;
  }
  if (last - begin > told.longest_spin_ns) told.longest_spin_ns = last - begin;
}

void print(const char* name, const Told& told, const char* end) {
  std::printf(
      "\"%s\": {\"tid\": %d, \"cpu_ns\": %lu, \"longest_gap_ns\": %lu, \"longest_spin_ns\": %lu, "
      "\"voluntary\": %ld, \"involuntary\": %ld, \"ran_ns\": %lu, \"queued_ns\": %lu}%s",
      name, told.tid, told.cpu_ns, told.longest_gap_ns, told.longest_spin_ns, told.voluntary, told.involuntary,
      told.ran_ns, told.queued_ns, end);
}

void share(uint64_t nanoseconds) {
  Told told[2];
  const auto work = [&](int which) {
    become(which == 0 ? "rival_a" : "rival_b", 0);
    const uint64_t before = now(CLOCK_THREAD_CPUTIME_ID);
    spin(nanoseconds, told[which]);
    conclude(told[which], before);
  };
  std::thread first(work, 0);
  std::thread second(work, 1);
  first.join();
  second.join();
  print("rival_a", told[0], ", ");
  print("rival_b", told[1], "");
}

// Both have priorities of real time, so that nobody else decides.
void bully(uint64_t nanoseconds, int count) {
  Told told[2];
  constexpr uint64_t kPause = 30'000'000;
  // Neither begins before both are there: who has the CPU may keep the other from being made.
  std::atomic<bool> victim_ready = false;
  std::atomic<bool> bully_ready = false;
  std::thread victim([&] {
    become("victim", 1);
    while (!bully_ready) usleep(1000);
    victim_ready = true;
    const uint64_t before = now(CLOCK_THREAD_CPUTIME_ID);
    spin((nanoseconds + kPause) * static_cast<uint64_t>(count) + kPause, told[0]);
    conclude(told[0], before);
  });
  std::thread other([&] {
    become("bully", 50);
    bully_ready = true;
    while (!victim_ready) usleep(1000);
    const uint64_t before = now(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < count; ++i) {
      timespec pause{0, kPause};
      nanosleep(&pause, nullptr);
      spin(nanoseconds, told[1]);
    }
    conclude(told[1], before);
  });
  victim.join();
  other.join();
  print("victim", told[0], ", ");
  print("bully", told[1], "");
}

void ping_pong(int rounds) {
  Told told[2];
  int pipes[2][2];
  if (pipe(pipes[0]) != 0 || pipe(pipes[1]) != 0) std::_Exit(1);
  const auto play = [&](int which) {
    become(which == 0 ? "ping" : "pong", 0);
    const uint64_t before = now(CLOCK_THREAD_CPUTIME_ID);
    char ball = 'o';
    for (int i = 0; i < rounds; ++i) {
      if (which == 0 && write(pipes[0][1], &ball, 1) != 1) std::_Exit(1);
      if (read(pipes[1 - which][0], &ball, 1) != 1) std::_Exit(1);
      if (which == 1 && write(pipes[1][1], &ball, 1) != 1) std::_Exit(1);
    }
    conclude(told[which], before);
  };
  std::thread first(play, 0);
  std::thread second(play, 1);
  first.join();
  second.join();
  print("ping", told[0], ", ");
  print("pong", told[1], "");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto number = static_cast<uint64_t>(std::atoll(argv[2]));
  // The last CPU that we may use.
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) g_cpu = cpu;
  }
  std::printf("{\"cpu\": %d, ", g_cpu);
  if (std::strcmp(argv[1], "share") == 0) {
    share(number * 1'000'000);
  } else if (std::strcmp(argv[1], "bully") == 0 && argc > 3) {
    bully(number * 1'000'000, std::atoi(argv[3]));
  } else if (std::strcmp(argv[1], "pingpong") == 0) {
    ping_pong(static_cast<int>(number));
  } else {
    return 2;
  }
  std::puts("}");
}
