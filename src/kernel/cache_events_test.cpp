#include "kernel/cache_events.h"

#include <gtest/gtest.h>

#include <set>

namespace tephra::kernel {
namespace {

TEST(CacheEvents, ReadsNamesByRule) {
  EXPECT_EQ(cache_event("L1-dcache-loads"), 0x0u);
  EXPECT_EQ(cache_event("l1d"), 0x0u);
  EXPECT_EQ(cache_event("L1-dcache-load-misses"), 0x10000u);
  EXPECT_EQ(cache_event("L1-dcache-misses"), 0x10000u);
  EXPECT_EQ(cache_event("L1-dcache-misses-load"), 0x10000u);
  EXPECT_EQ(cache_event("LLC-stores"), 0x102u);
  EXPECT_EQ(cache_event("L2-write-miss"), 0x10102u);
  EXPECT_EQ(cache_event("LLC-speculative-read"), 0x202u);
  EXPECT_EQ(cache_event("d-tlb-store-misses"), 0x10103u);
  EXPECT_EQ(cache_event("iTLB-load-misses"), 0x10004u);
  EXPECT_EQ(cache_event("branch-loads"), 0x5u);
  EXPECT_EQ(cache_event("BPU-read-miss"), 0x10005u);
  EXPECT_EQ(cache_event("node-prefetch-misses"), 0x10206u);
}

TEST(CacheEvents, RefusesWhatIsNone) {
  for (const char* name : {"", "L1", "l1dx", "L1-dcache-", "L1-dcache-foo", "L1-dcache-load-store", "LLC-miss-miss",
                           "L1-dcache-load-misses-refs", "iTLB-stores", "branch-prefetches", "L1-icache-stores"}) {
    EXPECT_FALSE(cache_event(name)) << name;
  }
}

TEST(CacheEvents, EveryUsualNameIsAnEventOfItsOwn) {
  std::set<uint64_t> configs;
  for (const std::string& name : cache_event_names()) {
    const auto config = cache_event(name);
    ASSERT_TRUE(config) << name;
    EXPECT_TRUE(configs.insert(*config).second) << name;
  }
  EXPECT_EQ(configs.size(), 32u);
}

}  // namespace
}  // namespace tephra::kernel
