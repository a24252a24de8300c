// Makes a known number of system calls in one function and gives up the CPU a known number of times in another:
//   known_calls CALLS SLEEPS
// Prints how often the kernel switched away from it until then, as the kernel counted it.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

extern "C" {

// Without libc's wrapper, which has no frame of its own.
__attribute__((noinline)) void many_calls(long calls) {
  for (long i = 0; i < calls; ++i) {
#if defined(__x86_64__)
    long number = SYS_getppid;
    asm volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
#else
    syscall(SYS_getppid);
#endif
  }
}

__attribute__((noinline)) void many_sleeps(long sleeps) {
  for (long i = 0; i < sleeps; ++i) {
    const timespec moment{0, 200'000};
    nanosleep(&moment, nullptr);
  }
}
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  many_calls(std::atol(argv[1]));
  many_sleeps(std::atol(argv[2]));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%ld\n", usage.ru_nvcsw + usage.ru_nivcsw);
  return 0;
}
