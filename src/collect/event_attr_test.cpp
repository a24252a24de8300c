#include "collect/event_attr.h"

#include <gtest/gtest.h>

namespace tephra::collect {
namespace {

kernel::AttrSupport everything() { return {true, true, true, true, true, true}; }

TEST(EventAttr, DefaultsToFourThousandHertz) {
  const auto attr = sampling_attr(kernel::software_event("cpu-clock"), {}, everything());
  EXPECT_EQ(attr.size, 112u);
  EXPECT_EQ(attr.freq, 1u);
  EXPECT_EQ(attr.sample_freq, 4000u);
  EXPECT_EQ(attr.sample_id_all, 1u);
  EXPECT_EQ(attr.use_clockid, 1u);
  EXPECT_EQ(attr.clockid, 1);
  EXPECT_EQ(attr.disabled, 1u);
  EXPECT_EQ(attr.sample_type, uint64_t{PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD});
}

TEST(EventAttr, PeriodWins) {
  SampleSettings settings;
  settings.period = 7;
  const auto attr = sampling_attr(kernel::software_event("page-faults"), settings, everything());
  EXPECT_EQ(attr.freq, 0u);
  EXPECT_EQ(attr.sample_period, 7u);
}

TEST(EventAttr, TracepointsAreRecordedEachWithTheirFields) {
  kernel::EventSpec spec;
  spec.type = PERF_TYPE_TRACEPOINT;
  spec.config = 123;
  const auto attr = sampling_attr(spec, {}, everything());
  EXPECT_EQ(attr.freq, 0u);
  EXPECT_EQ(attr.sample_period, 1u);
  EXPECT_TRUE(attr.sample_type & PERF_SAMPLE_RAW);
}

TEST(EventAttr, DwarfCopiesRegistersAndStack) {
  SampleSettings settings;
  settings.call_graph = CallGraph::kDwarf;
  settings.stack_bytes = 16384;
  const auto attr = sampling_attr(kernel::software_event("cpu-clock"), settings, everything());
  EXPECT_TRUE(attr.sample_type & PERF_SAMPLE_CALLCHAIN);
  EXPECT_TRUE(attr.sample_type & PERF_SAMPLE_REGS_USER);
  EXPECT_TRUE(attr.sample_type & PERF_SAMPLE_STACK_USER);
  EXPECT_EQ(attr.sample_stack_user, 16384u);
  EXPECT_EQ(attr.exclude_callchain_user, 1u);
  EXPECT_NE(attr.sample_regs_user, 0u);
}

TEST(EventAttr, LeavesOutWhatTheKernelDoesNotKnow) {
  perf_event_attr attr = dummy_attr(true, {});
  add_side_band(attr, false, {});
  EXPECT_EQ(attr.mmap2, 1u);
  EXPECT_EQ(attr.build_id, 0u);
  EXPECT_EQ(attr.ksymbol, 0u);
  EXPECT_EQ(attr.use_clockid, 0u);
  EXPECT_EQ(attr.read_format, uint64_t{PERF_FORMAT_ID});
}

}  // namespace
}  // namespace tephra::collect
