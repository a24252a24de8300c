// Waits for locks in different places, one after the other, so long as the program itself measures.
//   named_locks ROUNDS [LIBRARY]
// For each place: its name, nanoseconds waited, how often. LIBRARY has a lock, too (variants/lock_plugin.cpp).
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

namespace company {

// Something else before the lock: it is then not where its object begins.
struct Queue {
  long length = 0;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
};
Queue queue;  // all zero: in memory alone, not in the file

}  // namespace company

pthread_mutex_t queue_mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;  // not zero: in the file

namespace {

uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

void sleep_ms(long ms) {
  const timespec time{0, ms * 1'000'000};
  nanosleep(&time, nullptr);
}

__attribute__((noinline)) uint64_t wait_for_lock(pthread_mutex_t* lock) {
  const uint64_t begin = now();
  pthread_mutex_lock(lock);
  const uint64_t end = now();
  pthread_mutex_unlock(lock);
  return end - begin;
}

void contend(const char* name, pthread_mutex_t* lock, int rounds) {
  uint64_t waited = 0;
  for (int i = 0; i < rounds; ++i) {
    std::atomic<bool> held{false};
    std::thread holder([&] {
      pthread_mutex_lock(lock);
      held = true;
      sleep_ms(40);
      pthread_mutex_unlock(lock);
    });
    while (!held) sleep_ms(1);
    waited += wait_for_lock(lock);
    holder.join();
  }
  std::printf("%s %lu %d\n", name, waited, rounds);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  // So that a recorder can get to know the program's code first.
  if (const char* ms = std::getenv("FIRST_WAIT_MS")) sleep_ms(std::atol(ms));
  const int rounds = std::atoi(argv[1]);
  contend("queue_mutex", &queue_mutex, rounds);
  contend("company::queue+0x8", &company::queue.mutex, rounds);
  pthread_mutex_t on_stack = PTHREAD_MUTEX_INITIALIZER;
  contend("stack", &on_stack, rounds);
  const auto on_heap = std::make_unique<company::Queue>();
  contend("heap", &on_heap->mutex, rounds);
  if (argc < 3) return 0;
  void* library = dlopen(argv[2], RTLD_NOW);
  if (library == nullptr) return 1;
  const auto lock = reinterpret_cast<pthread_mutex_t* (*)()>(dlsym(library, "lock_of_plugin"));
  if (lock == nullptr) return 1;
  contend("plugin_mutex", lock(), rounds);
}
