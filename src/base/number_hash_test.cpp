#include "base/number_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <unordered_map>

namespace tephra::base {
namespace {

constexpr uint64_t kNumbers = 100'000;

uint64_t buckets_of_that_many() {
  std::unordered_map<uint64_t, int> table;
  for (uint64_t i = 0; i < kNumbers; ++i) table.emplace(i, 0);
  return table.bucket_count();
}

template <class Hash>
size_t largest_bucket(uint64_t step) {
  std::unordered_map<uint64_t, int, Hash> table;
  table.reserve(kNumbers);
  for (uint64_t i = 0; i < kNumbers; ++i) table.emplace(i * step, 0);
  size_t largest = 0;
  for (size_t i = 0; i < table.bucket_count(); ++i) largest = std::max(largest, table.bucket_size(i));
  return largest;
}

TEST(NumberHash, SpreadsNumbersThatWereChosen) {
  for (const uint64_t step : {uint64_t{1}, uint64_t{4096}, uint64_t{1} << 32, buckets_of_that_many()}) {
    EXPECT_LT(largest_bucket<NumberHash>(step), 20u) << step;
  }
}

TEST(NumberHash, IsTheSameForAllTables) { EXPECT_EQ(NumberHash()(7), NumberHash()(7)); }

}  // namespace
}  // namespace tephra::base
