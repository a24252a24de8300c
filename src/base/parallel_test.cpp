#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace tephra::base {
namespace {

TEST(Parallel, EveryItemIsDoneOnce) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{7}, size_t{5000}}) {
    std::vector<std::atomic<int>> done(count);
    parallel_for(count, [&](size_t index) { ++done[index]; });
    for (const auto& times : done) EXPECT_EQ(times, 1);
  }
}

TEST(Parallel, AFailureReachesTheCaller) {
  std::atomic<size_t> started = 0;
  EXPECT_THROW(parallel_for(100000,
                            [&](size_t index) {
                              ++started;
                              if (index == 3) throw std::runtime_error("failed");
                            }),
               std::runtime_error);
  EXPECT_GE(started, 4u);
}

TEST(Parallel, ThereIsAlwaysAWorker) { EXPECT_GE(worker_count(), 1u); }

}  // namespace
}  // namespace tephra::base
