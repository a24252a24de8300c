// kernel/perf_event.cpp on machines that tests choose.
#include "kernel/perf_event.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "records_for_tests.h"
#include "wall_clock.h"

namespace tephra::kernel {
namespace {

using fake::machine;

constexpr uint64_t kMillisecond = 1'000'000;

bool counts_cycles() { return counts_here(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES); }

TEST(PerfEvent, FindsCountersThatCount) {
  machine().reset();
  const fake::WallClock clock(machine());
  EXPECT_TRUE(counts_cycles());
  EXPECT_EQ(machine().events().size(), 0u) << "the probe is closed again";
}

TEST(PerfEvent, FindsCountersThatStandStill) {
  fake::MachineConfig config;
  config.stuck = true;
  machine().reset(config);
  const fake::WallClock clock(machine());
  EXPECT_FALSE(counts_cycles());
}

TEST(PerfEvent, FindsThatThereAreNone) {
  fake::MachineConfig config;
  config.pmu = false;
  machine().reset(config);
  const fake::WallClock clock(machine());
  EXPECT_FALSE(counts_cycles());
  EXPECT_EQ(errno, ENOENT);
}

TEST(PerfEvent, ReadsEveryFormat) {
  for (uint64_t format = 0; format < 32; ++format) {
    if (format & PERF_FORMAT_GROUP) continue;
    machine().reset();
    const fake::Task task = fake::played_task();
    perf_event_attr attr = fake::cycles_attr(30'000);
    attr.read_format = format;
    const auto fd = open_event(attr, EventScope::task(task.tid, 0));
    RingBuffer ring;
    ASSERT_TRUE(ring.map(fd.get(), 4096));
    machine().lose_next(7);
    machine().run(kMillisecond, fake::running(task));
    const EventCount count = read_count(fd.get(), format);
    EXPECT_EQ(count.value, 3 * kMillisecond) << format;
    EXPECT_EQ(count.enabled_ns, format & PERF_FORMAT_TOTAL_TIME_ENABLED ? kMillisecond : 0) << format;
    EXPECT_EQ(count.running_ns, format & PERF_FORMAT_TOTAL_TIME_RUNNING ? kMillisecond : 0) << format;
    EXPECT_EQ(count.lost, format & PERF_FORMAT_LOST ? 7u : 0u) << format;
  }
}

TEST(PerfEvent, ReadsAWholeGroupFromItsLeader) {
  constexpr uint64_t kFormat = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST | PERF_FORMAT_TOTAL_TIME_ENABLED |
                               PERF_FORMAT_TOTAL_TIME_RUNNING;
  machine().reset();
  const fake::Task task = fake::played_task();
  perf_event_attr attr = fake::cycles_attr(30'000);
  attr.read_format = kFormat;
  const auto leader = open_event(attr, EventScope::task(task.tid, 0));
  attr.config = PERF_COUNT_HW_INSTRUCTIONS;
  const auto member = open_event(attr, EventScope::task(task.tid, 0), leader.get());
  RingBuffer ring;
  ASSERT_TRUE(ring.map(leader.get(), 4096));
  ASSERT_TRUE(redirect_output(member.get(), leader.get()));
  machine().lose_next(20);
  machine().run(kMillisecond, fake::running(task));
  const EventCount count = read_count(leader.get(), kFormat);
  EXPECT_EQ(count.value, 3 * kMillisecond);
  EXPECT_EQ(count.enabled_ns, kMillisecond);
  EXPECT_EQ(count.running_ns, kMillisecond);
  EXPECT_EQ(count.lost, 20u) << "of both together";
}

TEST(PerfEvent, ACounterInErrorReadsAsNothing) {
  fake::MachineConfig config;
  config.counters = 0;
  machine().reset(config);
  const fake::Task task = fake::played_task();
  perf_event_attr attr = fake::cycles_attr();
  attr.pinned = 1;
  const auto fd = open_event(attr, EventScope::task(task.tid, 0));
  ASSERT_TRUE(fd);
  machine().run(kMillisecond, fake::running(task));
  EXPECT_EQ(read_count(fd.get(), 0).value, 0u);
}

TEST(PerfEvent, ProbesWhatKernelsOfAllAgesTake) {
  struct Age {
    const char* version;
    bool clockid, comm_exec, ksymbol, bpf_event, build_id, read_lost;
  };
  for (const Age& age :
       {Age{"3.10", false, false, false, false, false, false}, Age{"4.4", true, true, false, false, false, false},
        Age{"4.19", true, true, false, false, false, false}, Age{"5.4", true, true, true, true, false, false},
        Age{"5.15", true, true, true, true, true, false}, Age{"6.1", true, true, true, true, true, true}}) {
    fake::MachineConfig config;
    config.kernel = *fake::kernel_age(age.version);
    machine().reset(config);
    const AttrSupport support = probe_attr_support();
    EXPECT_EQ(support.clockid, age.clockid) << age.version;
    EXPECT_EQ(support.comm_exec, age.comm_exec) << age.version;
    EXPECT_EQ(support.ksymbol, age.ksymbol) << age.version;
    EXPECT_EQ(support.bpf_event, age.bpf_event) << age.version;
    EXPECT_EQ(support.build_id, age.build_id) << age.version;
    EXPECT_EQ(support.read_lost, age.read_lost) << age.version;
    EXPECT_EQ(machine().events().size(), 0u);
  }
}

TEST(PerfEvent, ScopesReachTheKernelAsTheyAre) {
  machine().reset();
  const auto everything = open_event(fake::cycles_attr(), EventScope::everything(1));
  const base::FileDescriptor folder(::open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto cgroup = open_event(fake::cycles_attr(), EventScope::cgroup(folder.get(), 0));
  ASSERT_TRUE(everything);
  ASSERT_TRUE(cgroup);
  const auto events = machine().events();
  EXPECT_EQ(events[0].tid, -1);
  EXPECT_EQ(events[0].cpu, 1);
  EXPECT_EQ(events[1].cgroup, "/tmp");
  EXPECT_TRUE(::fcntl(everything.get(), F_GETFD) & FD_CLOEXEC);
}

}  // namespace
}  // namespace tephra::kernel
