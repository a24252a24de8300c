#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tephra::base {

unsigned worker_count() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (::sched_getaffinity(0, sizeof cpus, &cpus) == 0) return std::max(1, CPU_COUNT(&cpus));
  return std::max(1u, std::thread::hardware_concurrency());
}

void parallel_for(size_t count, const std::function<void(size_t)>& work) {
  const auto threads = static_cast<size_t>(std::min<size_t>(worker_count(), count));
  if (threads <= 1) {
    for (size_t index = 0; index < count; ++index) work(index);
    return;
  }
  std::atomic<size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  auto run = [&] {
    try {
      for (size_t index = next++; index < count; index = next++) work(index);
    } catch (...) {
      std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  std::vector<std::jthread> pool;
  try {
    for (size_t i = 1; i < threads; ++i) pool.emplace_back(run);
  } catch (const std::system_error&) {
    // Where no more threads may be started, those there are do the work.
  }
  run();
  pool.clear();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tephra::base
