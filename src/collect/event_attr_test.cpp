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

TEST(EventAttr, WalkedStacksAreCopiedWhereTheyCannotBeWalked) {
  SampleSettings settings;
  settings.call_graph = CallGraph::kBpf;
  kernel::EventSpec cycles;
  cycles.type = PERF_TYPE_HARDWARE;
  cycles.precise = 3;
  auto attr = sampling_attr(cycles, settings, everything());
  EXPECT_EQ(attr.sample_type & (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER),
            uint64_t{PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER});
  EXPECT_EQ(attr.sample_stack_user, kStartStackBytes);
  EXPECT_EQ(attr.exclude_callchain_user, 1u);
  EXPECT_EQ(attr.precise_ip, 0u);
  settings.check_walks = true;
  attr = sampling_attr(cycles, settings, everything());
  EXPECT_EQ(attr.sample_stack_user, kMaxStackBytes);
}

TEST(EventAttr, LeavesOutWhatTheKernelDoesNotKnow) {
  perf_event_attr attr = dummy_attr(true, {});
  add_side_band(attr, SampleSettings(), {});
  EXPECT_EQ(attr.mmap2, 1u);
  EXPECT_EQ(attr.build_id, 0u);
  EXPECT_EQ(attr.ksymbol, 0u);
  EXPECT_EQ(attr.use_clockid, 0u);
  EXPECT_EQ(attr.read_format, uint64_t{PERF_FORMAT_ID});
}

TEST(EventAttr, AnEventsOwnRateComesFirst) {
  SampleSettings settings;
  settings.period = 10;
  auto event = kernel::software_event("cpu-clock");
  event.frequency = 199;
  const auto attr = sampling_attr(event, settings, everything());
  EXPECT_EQ(attr.freq, 1u);
  EXPECT_EQ(attr.sample_freq, 199u);
}

TEST(EventAttr, EachPartOfASampleHasItsField) {
  SampleSettings settings;
  settings.addresses = settings.physical_addresses = settings.weights = settings.raw = true;
  settings.data_page_size = settings.code_page_size = settings.cgroups = true;
  settings.branch_types = PERF_SAMPLE_BRANCH_ANY;
  const auto attr = sampling_attr(kernel::software_event("cpu-clock"), settings, everything());
  for (const uint64_t field : {PERF_SAMPLE_ADDR, PERF_SAMPLE_DATA_SRC, PERF_SAMPLE_PHYS_ADDR,
                               PERF_SAMPLE_DATA_PAGE_SIZE, PERF_SAMPLE_CODE_PAGE_SIZE, PERF_SAMPLE_WEIGHT_STRUCT,
                               PERF_SAMPLE_RAW, PERF_SAMPLE_CGROUP, PERF_SAMPLE_BRANCH_STACK}) {
    EXPECT_TRUE(attr.sample_type & field) << field;
  }
  EXPECT_TRUE(attr.branch_sample_type & PERF_SAMPLE_BRANCH_ANY);
}

TEST(EventAttr, ModesOfAnEventOutweighThoseOfTheRecording) {
  SampleSettings settings;
  settings.kernel_code = false;
  auto event = kernel::software_event("cpu-clock");
  EXPECT_EQ(sampling_attr(event, settings, everything()).exclude_kernel, 1u);
  event.modes_given = true;
  event.exclude_user = true;
  const auto attr = sampling_attr(event, settings, everything());
  EXPECT_EQ(attr.exclude_kernel, 0u);
  EXPECT_EQ(attr.exclude_user, 1u);
}

TEST(EventAttr, LeaderSamplingReadsTheGroup) {
  auto event = kernel::software_event("cpu-clock");
  event.leader_samples = true;
  const auto attr = sampling_attr(event, SampleSettings(), everything());
  EXPECT_TRUE(attr.sample_type & PERF_SAMPLE_READ);
  EXPECT_TRUE(attr.read_format & PERF_FORMAT_GROUP);
}

}  // namespace
}  // namespace tephra::collect
