#include "kernel/pfm_events.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include "kernel/event_parser.h"

namespace tephra::kernel {
namespace {

TEST(PfmEvents, GenericNamesAreKnownEverywhere) {
  if (!pfm_built_in()) GTEST_SKIP() << "built without libpfm";
  const auto cycles = pfm_event("perf::CYCLES:u");
  ASSERT_TRUE(cycles.ok());
  ASSERT_TRUE(cycles->has_value());
  EXPECT_EQ((*cycles)->type, uint32_t{PERF_TYPE_HARDWARE});
  EXPECT_EQ((*cycles)->config, uint64_t{PERF_COUNT_HW_CPU_CYCLES});
  EXPECT_TRUE((*cycles)->exclude_kernel);
  EXPECT_TRUE((*cycles)->modes_given);
  const auto faults = pfm_event("perf::PERF_COUNT_SW_PAGE_FAULTS:period=100");
  ASSERT_TRUE(faults.ok() && faults->has_value());
  EXPECT_EQ((*faults)->type, uint32_t{PERF_TYPE_SOFTWARE});
  EXPECT_EQ((*faults)->period, 100u);
  EXPECT_FALSE((*faults)->modes_given);
  EXPECT_FALSE((*faults)->exclude_hypervisor);
}

TEST(PfmEvents, RawCodesOfLibpfm) {
  if (!pfm_built_in()) GTEST_SKIP() << "built without libpfm";
  const auto raw = parse_events("perf_raw::r1234");
  ASSERT_TRUE(raw.ok()) << raw.error().message();
  EXPECT_EQ(raw->front().type, uint32_t{PERF_TYPE_RAW});
  EXPECT_EQ(raw->front().config, 0x1234u);
}

TEST(PfmEvents, WhatItDoesNotKnowIsNoEvent) {
  for (const char* name : {"", "no_such_event", "perf::NO_SUCH_EVENT", "a:b:c:d", "::", "sched:sched_switch"}) {
    const auto event = pfm_event(name);
    ASSERT_TRUE(event.ok()) << name;
    EXPECT_FALSE(event->has_value()) << name;
  }
}

TEST(PfmEvents, AWrongAttributeIsAnError) {
  if (!pfm_built_in()) GTEST_SKIP() << "built without libpfm";
  const auto event = pfm_event("perf::CYCLES:nonsense");
  ASSERT_FALSE(event.ok());
  EXPECT_NE(event.error().message().find("libpfm"), std::string::npos);
}

}  // namespace
}  // namespace tephra::kernel
