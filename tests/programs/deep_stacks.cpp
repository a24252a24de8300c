// flags: -fomit-frame-pointer -momit-leaf-frame-pointer
// Works for as many milliseconds of CPU time as asked, at the end of a stack of so many KiB:
//   deep_stacks KIND MILLISECONDS KIB
// KIND says in whom, always for that time in all: "first", in the first thread; "threads", in three others; "children",
// in one short-lived process after the other; "family", in three processes with a second thread each, whose parent has
// ended.
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#define NOINLINE [[gnu::noinline]]

// CPU time of the thread, so that a busy machine makes no difference.
static double seconds_used() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

NOINLINE unsigned work(double seconds) {
  unsigned sum = 1;
  for (const double until = seconds_used() + seconds; seconds_used() < until;) {
    for (unsigned i = 0; i < 20000; ++i) {
      asm volatile("" : "+r"(sum));
      sum = sum * 1664525 + 1013904223;
    }
  }
  return sum;
}

// Each takes a KiB and a little of the stack.
NOINLINE unsigned deeper(int kib, double seconds) {
  volatile char room[1024];
  room[0] = static_cast<char>(kib);
  const unsigned below = kib == 0 ? work(seconds) : deeper(kib - 1, seconds);
  return below + static_cast<unsigned char>(room[0]);
}

static int depth_kib;
static double part_seconds;
static void* in_a_thread(void*) {
  deeper(depth_kib, part_seconds);
  return nullptr;
}

static void in_threads(int count, double seconds) {
  pthread_t threads[8];
  part_seconds = seconds / count;
  for (int i = 0; i < count; ++i) pthread_create(&threads[i], nullptr, in_a_thread, nullptr);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], nullptr);
}

static void in_children(double seconds) {
  constexpr double kEach = 0.05;
  for (double left = seconds; left > 0; left -= kEach) {
    const pid_t child = fork();
    if (child == 0) {
      deeper(depth_kib, kEach);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
}

// Waits for grandchildren by a pipe that the last of them closes.
static void in_a_family(double seconds) {
  int ends[2];
  if (pipe(ends) != 0) _exit(1);
  const pid_t parent = fork();
  if (parent == 0) {
    for (int i = 0; i < 3; ++i) {
      if (fork() != 0) continue;
      part_seconds = seconds / 6;
      pthread_t thread;
      pthread_create(&thread, nullptr, in_a_thread, nullptr);
      deeper(depth_kib, part_seconds);
      pthread_join(thread, nullptr);
      _exit(0);
    }
    _exit(0);
  }
  waitpid(parent, nullptr, 0);
  close(ends[1]);
  char none;
  while (read(ends[0], &none, 1) > 0) {
  }
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string kind = argv[1];
  const double seconds = std::atof(argv[2]) / 1000;
  depth_kib = std::atoi(argv[3]);
  if (kind == "first")
    deeper(depth_kib, seconds);
  else if (kind == "threads")
    in_threads(3, seconds);
  else if (kind == "children")
    in_children(seconds);
  else if (kind == "family")
    in_a_family(seconds);
  else
    return 2;
  return 0;
}
