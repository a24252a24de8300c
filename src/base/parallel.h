#pragma once

#include <cstddef>
#include <functional>

namespace tephra::base {

// How many threads it pays to use: the CPUs this process may run on.
unsigned worker_count();

// Calls work(index) for every index below `count`, from up to worker_count() threads, and returns when all are done.
// Items are taken one by one, so uneven items balance. The first exception is thrown again in the caller.
void parallel_for(size_t count, const std::function<void(size_t)>& work);

}  // namespace tephra::base
