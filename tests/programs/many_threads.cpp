// Holds as many threads as asked (1000): one of them, named "busy", spins in spin_here, the others sleep. Writes "ready"
// once all run. Ends after as many milliseconds as asked second (10000).
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

long milliseconds = 10'000;

void* sleep_here(void*) {
  const timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  nanosleep(&time, nullptr);
  return nullptr;
}

__attribute__((noinline)) void* spin_here(void*) {
  pthread_setname_np(pthread_self(), "busy");
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  volatile unsigned sum = 0;
  while (std::chrono::steady_clock::now() < end) {
    for (unsigned i = 0; i < 10'000; ++i) sum = sum + i;
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1000;
  if (argc > 2) milliseconds = std::atol(argv[2]);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  for (int i = 1; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, &small, i == 1 ? spin_here : sleep_here, nullptr) != 0) {
      std::fprintf(stderr, "only %d threads can be had\n", i);
      return 1;
    }
  }
  std::puts("ready");
  std::fflush(stdout);
  sleep_here(nullptr);
  return 0;
}
