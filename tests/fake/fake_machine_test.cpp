#include "fake_machine.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "attr_check.h"
#include "base/file.h"
#include "records_for_tests.h"

namespace tephra::fake {
namespace {

using kernel::EventScope;

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kTimes = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;

class FakeMachineTest : public ::testing::Test {
 protected:
  void SetUp() override { machine().reset(); }

  base::FileDescriptor open(const perf_event_attr& attr, const Task& task, int leader = -1) {
    return kernel::open_event(attr, EventScope::task(task.tid, task.cpu), leader);
  }
};

TEST_F(FakeMachineTest, CountsWhileTheTaskRuns) {
  const Task task = played_task();
  perf_event_attr attr = cycles_attr();
  attr.read_format = kTimes;
  const auto fd = open(attr, task);
  ASSERT_TRUE(fd);
  machine().run(kMillisecond, running(task));
  machine().run(kMillisecond);  // somebody else runs
  const auto count = kernel::read_count(fd.get(), attr.read_format);
  EXPECT_EQ(count.value, 3 * kMillisecond);
  EXPECT_EQ(count.enabled_ns, kMillisecond);
  EXPECT_EQ(count.running_ns, kMillisecond);
}

// As measured with cpu-clock on Linux 6.18.
TEST_F(FakeMachineTest, AnEventTiedToACpuIsEnabledWhileItsTaskIsElsewhere) {
  Task task = played_task();
  perf_event_attr attr = cycles_attr();
  attr.read_format = kTimes;
  const auto fd = open(attr, task);
  task.cpu = 1;
  machine().run(kMillisecond, running(task));
  const auto count = kernel::read_count(fd.get(), attr.read_format);
  EXPECT_EQ(count.value, 0u);
  EXPECT_EQ(count.enabled_ns, kMillisecond);
  EXPECT_EQ(count.running_ns, 0u);
}

TEST_F(FakeMachineTest, EventsTakeTurnsOnTooFewCounters) {
  MachineConfig config;
  config.counters = 2;
  machine().reset(config);
  const Task task = played_task();
  std::vector<base::FileDescriptor> fds;
  for (uint64_t event = 0; event < 4; ++event) {
    perf_event_attr attr = hardware_attr(event);
    attr.read_format = kTimes;
    fds.push_back(open(attr, task));
  }
  // One that needs no counter does not disturb the turns.
  perf_event_attr clock = kernel::empty_attr();
  clock.type = PERF_TYPE_SOFTWARE;
  clock.config = PERF_COUNT_SW_CPU_CLOCK;
  const auto software = open(clock, task);
  machine().run(400 * kMillisecond, running(task));
  EXPECT_EQ(kernel::read_count(software.get(), 0).value, 400 * kMillisecond);
  for (const auto& fd : fds) {
    const auto count = kernel::read_count(fd.get(), kTimes);
    EXPECT_EQ(count.enabled_ns, 400 * kMillisecond);
    EXPECT_NEAR(static_cast<double>(count.running_ns), 200.0 * kMillisecond, 2.0 * kMillisecond);
  }
}

TEST_F(FakeMachineTest, AGroupRunsWholeOrNotAtAll) {
  MachineConfig config;
  config.counters = 4;
  config.taken_counters = 2;
  machine().reset(config);
  const Task task = played_task();
  perf_event_attr attr = cycles_attr();
  attr.read_format = kTimes | PERF_FORMAT_GROUP | PERF_FORMAT_ID;
  const auto leader = open(attr, task);
  std::vector<base::FileDescriptor> members;
  for (uint64_t event = 1; event < 3; ++event) {
    attr.config = event;
    members.push_back(open(attr, task, leader.get()));
    ASSERT_TRUE(members.back());
  }
  machine().run(50 * kMillisecond, running(task));
  uint64_t words[9]{};
  ASSERT_EQ(machine().read(leader.get(), words, sizeof words), static_cast<ssize_t>(sizeof words));
  EXPECT_EQ(words[0], 3u);
  EXPECT_EQ(words[1], 50 * kMillisecond);
  EXPECT_EQ(words[2], 0u) << "three counters are never free";
  members.pop_back();
  machine().run(50 * kMillisecond, running(task));
  ASSERT_EQ(machine().read(members[0].get(), words, sizeof words), 56) << "a member tells of the whole group";
  EXPECT_EQ(words[0], 2u);
  EXPECT_EQ(words[2], 50 * kMillisecond);
  EXPECT_EQ(words[3], 150 * kMillisecond);
  EXPECT_EQ(words[4], kernel::event_id(leader.get()));
  EXPECT_EQ(words[5], 225 * kMillisecond);
}

TEST_F(FakeMachineTest, AGroupThatCannotFitIsRefused) {
  const Task task = played_task();
  const auto leader = open(cycles_attr(), task);
  std::vector<base::FileDescriptor> members;
  for (uint64_t event = 1; event < 4; ++event) members.push_back(open(hardware_attr(event), task, leader.get()));
  EXPECT_TRUE(members.back());
  EXPECT_FALSE(open(hardware_attr(4), task, leader.get()));
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(FakeMachineTest, APinnedEventWithoutRoomReadsNothing) {
  MachineConfig config;
  config.counters = 1;
  machine().reset(config);
  const Task task = played_task();
  perf_event_attr attr = cycles_attr();
  attr.pinned = 1;
  const auto first = open(attr, task);
  const auto second = open(attr, task);
  machine().run(kMillisecond, running(task));
  uint64_t word = 0;
  EXPECT_EQ(machine().read(first.get(), &word, sizeof word), 8);
  EXPECT_EQ(machine().read(second.get(), &word, sizeof word), 0);
}

TEST_F(FakeMachineTest, SamplesHoldEveryFieldInOrder) {
  const Task task = played_task();
  Code code;
  code.places = {{1, 0x401020, {0x402005, 0x403005}}};
  code.branches = {{0x401000, 0x401010, PERF_BR_CALL, true, 12}, {0x400000, 0x400010, PERF_BR_RET, false, 3}};
  Task busy = task;
  busy.code = std::make_shared<const Code>(code);
  perf_event_attr attr = cycles_attr(3 * kMillisecond);
  attr.size = sizeof attr;
  attr.sample_type = ((uint64_t{1} << 25) - 1) & ~uint64_t{PERF_SAMPLE_WEIGHT | PERF_SAMPLE_AUX};
  attr.read_format = kTimes | PERF_FORMAT_ID | PERF_FORMAT_LOST;
  attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_HW_INDEX;
  attr.sample_regs_user = 0x103;
  attr.sample_regs_intr = 0x100;
  attr.sample_stack_user = 16;
  attr.sample_id_all = 1;
  const auto fd = open(attr, task);
  ASSERT_TRUE(fd) << errno;
  kernel::RingBuffer ring;
  ASSERT_TRUE(ring.map(fd.get(), 1 << 16));
  machine().run(kMillisecond, running(busy));
  const auto records = take_records(ring);
  ASSERT_EQ(records.size(), 1u);
  const TakenRecord& sample = records[0];
  EXPECT_EQ(sample.header.type, uint32_t{PERF_RECORD_SAMPLE});
  const uint64_t id = kernel::event_id(fd.get());
  std::vector<uint64_t> words;
  for (size_t at = 0; at < sample.body.size(); at += 8) words.push_back(sample.at<uint64_t>(at));
  const uint64_t tid = static_cast<uint64_t>(task.tid);
  const uint64_t mispredicted = 1 | 12 << 4;
  const uint64_t predicted = 2 | 3 << 4;
  const std::vector<uint64_t> expected{id,
                                       0x401020,
                                       tid << 32 | tid,
                                       machine().now(),
                                       data_address(0),
                                       id,
                                       id,
                                       0,
                                       3 * kMillisecond,
                                       3 * kMillisecond,
                                       kMillisecond,
                                       kMillisecond,
                                       id,
                                       0,  // read
                                       4,
                                       static_cast<uint64_t>(PERF_CONTEXT_USER),
                                       0x401020,
                                       0x402005,
                                       0x403005,  // chain
                                       4,         // raw
                                       2,
                                       0,
                                       0x401000,
                                       0x401010,
                                       mispredicted,
                                       0x400000,
                                       0x400010,
                                       predicted,  // branches
                                       2,
                                       register_value(0, 0),
                                       register_value(0, 1),
                                       0x401020,  // user registers
                                       16,
                                       0,
                                       1,
                                       16,  // user stack
                                       sample_weight(0).full,
                                       data_source(0),
                                       0,  // weight, source, transaction
                                       2,
                                       0x401020,
                                       physical_address(0),
                                       kCgroupId,
                                       kPageBytes,
                                       kPageBytes};
  EXPECT_EQ(words, expected);
}

TEST_F(FakeMachineTest, BranchFiltersChoose) {
  const Task task = played_task();
  Code code;
  code.branches = {{1, 2, PERF_BR_CALL},
                   {3, 4, PERF_BR_RET},
                   {5, 6, PERF_BR_COND},
                   {7, 8, PERF_BR_IND_CALL},
                   {9, 10, PERF_BR_CALL, false, 0, true}};
  Task busy = task;
  busy.code = std::make_shared<const Code>(code);
  const auto branches_with = [&](uint64_t filter) {
    perf_event_attr attr = cycles_attr(3 * kMillisecond);
    attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
    attr.branch_sample_type = filter;
    const auto fd = open(attr, task);
    kernel::RingBuffer ring;
    EXPECT_TRUE(ring.map(fd.get(), 4096));
    machine().run(kMillisecond, running(busy));
    std::vector<uint64_t> from;
    for (const TakenRecord& record : take_records(ring)) {
      for (uint64_t i = 0; i < record.at<uint64_t>(0); ++i) from.push_back(record.at<uint64_t>(8 + i * 24));
    }
    return from;
  };
  constexpr uint64_t kUser = PERF_SAMPLE_BRANCH_USER;
  EXPECT_EQ(branches_with(kUser | PERF_SAMPLE_BRANCH_ANY), (std::vector<uint64_t>{1, 3, 5, 7}));
  EXPECT_EQ(branches_with(kUser | PERF_SAMPLE_BRANCH_ANY_CALL), (std::vector<uint64_t>{1, 7}));
  EXPECT_EQ(branches_with(kUser | PERF_SAMPLE_BRANCH_ANY_RETURN), (std::vector<uint64_t>{3}));
  EXPECT_EQ(branches_with(kUser | PERF_SAMPLE_BRANCH_COND), (std::vector<uint64_t>{5}));
  EXPECT_EQ(branches_with(PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_ANY), (std::vector<uint64_t>{9}));
  EXPECT_EQ(branches_with(PERF_SAMPLE_BRANCH_ANY), (std::vector<uint64_t>{1, 3, 5, 7, 9})) << "the event's own modes";
}

TEST_F(FakeMachineTest, WhatTooManySamplesDo) {
  MachineConfig config;
  config.max_sample_rate = 10'000;  // ten a tick
  machine().reset(config);
  const Task task = played_task();
  perf_event_attr attr = cycles_attr(30'000);  // a hundred a tick
  attr.sample_type = PERF_SAMPLE_TIME;
  const auto fd = open(attr, task);
  kernel::RingBuffer ring;
  ASSERT_TRUE(ring.map(fd.get(), 1 << 16));
  machine().run(10 * kMillisecond, running(task));
  auto types = count_types(take_records(ring));
  EXPECT_EQ(types[PERF_RECORD_THROTTLE], 10);
  EXPECT_EQ(types[PERF_RECORD_UNTHROTTLE], 10);
  EXPECT_EQ(types[PERF_RECORD_SAMPLE], 110);
  EXPECT_EQ(kernel::read_count(fd.get(), 0).value, 110u * 30'000) << "the counter stood still meanwhile";
}

TEST_F(FakeMachineTest, AFullRingLosesAndTellsLater) {
  const Task task = played_task();
  perf_event_attr attr = cycles_attr(30'000);
  attr.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_TID;
  attr.sample_id_all = 1;
  attr.read_format = PERF_FORMAT_LOST;
  const auto fd = open(attr, task);
  kernel::RingBuffer ring;
  ASSERT_TRUE(ring.map(fd.get(), 4096));
  machine().run(4 * kMillisecond, running(task));
  const auto samples = take_records(ring).size();
  EXPECT_EQ(samples, 4096u / 24);
  EXPECT_EQ(kernel::read_count(fd.get(), attr.read_format).lost, 400 - samples);
  machine().run(100'000, running(task));
  const auto records = take_records(ring);
  ASSERT_GE(records.size(), 2u);
  EXPECT_EQ(records[0].header.type, uint32_t{PERF_RECORD_LOST});
  EXPECT_EQ(records[0].at<uint64_t>(0), kernel::event_id(fd.get()));
  EXPECT_EQ(records[0].at<uint64_t>(8), 400 - samples);
  EXPECT_EQ(records[0].body.size(), 32u) << "with the trailer";
}

TEST_F(FakeMachineTest, FrequencyBecomesAPeriod) {
  const Task task = played_task();
  perf_event_attr attr = cycles_attr();
  attr.freq = 1;
  attr.sample_freq = 1000;
  attr.sample_type = PERF_SAMPLE_PERIOD;
  const auto fd = open(attr, task);
  kernel::RingBuffer ring;
  ASSERT_TRUE(ring.map(fd.get(), 1 << 16));
  machine().run(100 * kMillisecond, running(task));
  const auto records = take_records(ring);
  EXPECT_EQ(records.size(), 100u);
  EXPECT_EQ(records[0].at<uint64_t>(0), 3'000'000u);
}

TEST_F(FakeMachineTest, ExecEnablesAndChildrenInherit) {
  const Task task = played_task();
  perf_event_attr attr = cycles_attr();
  attr.disabled = attr.enable_on_exec = attr.inherit = attr.inherit_stat = 1;
  attr.comm = attr.comm_exec = attr.task = attr.mmap = attr.mmap2 = 1;
  attr.sample_type = PERF_SAMPLE_TID;
  attr.read_format = PERF_FORMAT_ID;
  const auto fd = open(attr, task);
  kernel::RingBuffer ring;
  ASSERT_TRUE(ring.map(fd.get(), 4096));
  machine().run(kMillisecond, running(task));
  EXPECT_EQ(kernel::read_count(fd.get(), 0).value, 0u);
  machine().exec(task, "program", {{0x400000, 0x1000, 0, "/bin/program"}});
  machine().fork(task, task.pid + 1, task.pid + 1);
  Task child = task;
  child.pid = child.tid = task.pid + 1;
  machine().run(kMillisecond, running(child));
  EXPECT_EQ(kernel::read_count(fd.get(), 0).value, 3 * kMillisecond);
  machine().exit(task);
  pollfd wait{fd.get(), 0, 0};
  EXPECT_EQ(::poll(&wait, 1, 0), 0) << "the child lives";
  machine().exit(child);
  EXPECT_EQ(::poll(&wait, 1, 0), 1);
  EXPECT_TRUE(wait.revents & POLLHUP);
  const auto records = take_records(ring);
  std::vector<uint32_t> types;
  for (const TakenRecord& record : records) types.push_back(record.header.type);
  EXPECT_EQ(types, (std::vector<uint32_t>{PERF_RECORD_COMM, PERF_RECORD_MMAP2, PERF_RECORD_FORK, PERF_RECORD_EXIT,
                                          PERF_RECORD_EXIT, PERF_RECORD_READ}));
  EXPECT_TRUE(records[0].header.misc & PERF_RECORD_MISC_COMM_EXEC);
  EXPECT_EQ(records[5].at<uint64_t>(8), 3 * kMillisecond);
  EXPECT_EQ(records[5].at<uint64_t>(16), kernel::event_id(fd.get())) << "by the id of the event we opened";
}

TEST_F(FakeMachineTest, WakesAReaderThatLetsHalfTheRingFill) {
  const Task task = played_task();
  perf_event_attr attr = cycles_attr(30'000);
  attr.sample_type = PERF_SAMPLE_TIME;
  const auto fd = open(attr, task);
  kernel::RingBuffer ring;
  ASSERT_TRUE(ring.map(fd.get(), 4096));
  pollfd wait{fd.get(), POLLIN, 0};
  machine().run(kMillisecond, running(task));
  EXPECT_EQ(::poll(&wait, 1, 0), 0);
  machine().run(kMillisecond, running(task));
  EXPECT_EQ(::poll(&wait, 1, 0), 1);
  take_records(ring);
  machine().run(1000, running(task));
  EXPECT_EQ(::poll(&wait, 1, 0), 0);
}

TEST_F(FakeMachineTest, OverwriteKeepsTheNewestAndPauseStopsIt) {
  const Task task = played_task();
  perf_event_attr attr = cycles_attr(30'000);
  attr.sample_type = PERF_SAMPLE_TIME;
  attr.write_backward = 1;
  const auto fd = open(attr, task);
  void* memory = machine().map(fd.get(), 4096, false);
  ASSERT_NE(memory, nullptr);
  const auto& control = *static_cast<const perf_event_mmap_page*>(memory);
  machine().run(10 * kMillisecond, running(task));
  EXPECT_EQ(uint64_t{0} - control.data_head, 1000u * 16);
  ASSERT_TRUE(kernel::pause_output(fd.get(), true));
  const uint64_t head = control.data_head;
  machine().run(kMillisecond, running(task));
  EXPECT_EQ(control.data_head, head);
  ASSERT_TRUE(kernel::pause_output(fd.get(), false));
  machine().run(kMillisecond, running(task));
  EXPECT_LT(control.data_head, head);
  machine().unmap(memory, 4096);
}

TEST_F(FakeMachineTest, EventsMoveToALargerRing) {
  const Task task = played_task();
  perf_event_attr owner_attr = kernel::empty_attr();
  owner_attr.type = PERF_TYPE_SOFTWARE;
  owner_attr.config = PERF_COUNT_SW_DUMMY;
  const auto small = kernel::open_event(owner_attr, EventScope::task(0, 0));
  const auto large = kernel::open_event(owner_attr, EventScope::task(0, 0));
  kernel::RingBuffer small_ring;
  kernel::RingBuffer large_ring;
  ASSERT_TRUE(small_ring.map(small.get(), 4096));
  ASSERT_TRUE(large_ring.map(large.get(), 1 << 16));
  perf_event_attr attr = cycles_attr(30'000);
  attr.sample_type = PERF_SAMPLE_TIME;
  const auto fd = open(attr, task);
  ASSERT_TRUE(kernel::redirect_output(fd.get(), small.get()));
  machine().run(kMillisecond, running(task));
  ASSERT_TRUE(kernel::redirect_output(fd.get(), large.get()));
  machine().run(kMillisecond, running(task));
  EXPECT_EQ(take_records(small_ring).size(), 100u);
  EXPECT_EQ(take_records(large_ring).size(), 100u);
}

TEST_F(FakeMachineTest, NoticesClosedDescriptors) {
  const Task task = played_task();
  auto fd = open(cycles_attr(), task);
  const int number = fd.get();
  EXPECT_EQ(machine().events().size(), 1u);
  fd.reset();
  EXPECT_EQ(machine().events().size(), 0u);
  fd = open(cycles_attr(), task);
  EXPECT_EQ(fd.get(), number);
  EXPECT_EQ(kernel::event_id(number), 2u);
  EXPECT_EQ(machine().control(number + 100, PERF_EVENT_IOC_ENABLE, 0), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST_F(FakeMachineTest, FailsOnDemand) {
  machine().fail_open(of_type(PERF_TYPE_HARDWARE), EBUSY, 1);
  EXPECT_FALSE(kernel::open_event(cycles_attr(), EventScope::task(0, -1)));
  EXPECT_EQ(errno, EBUSY);
  EXPECT_TRUE(kernel::open_event(cycles_attr(), EventScope::task(0, -1)));
  machine().fail_open(from_call(3), EMFILE);
  EXPECT_TRUE(kernel::open_event(cycles_attr(), EventScope::task(0, -1)));
  EXPECT_FALSE(kernel::open_event(cycles_attr(), EventScope::task(0, -1)));
  EXPECT_EQ(errno, EMFILE);
}

TEST_F(FakeMachineTest, AnOldKernelDoesNotKnowNewAttributes) {
  MachineConfig config;
  config.kernel = *kernel_age("3.10");
  machine().reset(config);
  perf_event_attr attr = cycles_attr();
  EXPECT_TRUE(kernel::open_event(attr, EventScope::task(0, -1))) << "what it does not know is zero";
  attr.aux_watermark = 1;
  EXPECT_FALSE(kernel::open_event(attr, EventScope::task(0, -1)));
  EXPECT_EQ(errno, E2BIG);
  EXPECT_EQ(attr.size, uint32_t{PERF_ATTR_SIZE_VER3}) << "it tells the size it knows";
  attr = cycles_attr();
  attr.mmap2 = 1;
  EXPECT_FALSE(kernel::open_event(attr, EventScope::task(0, -1)));
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(FakeMachineTest, TheUncoreCountsCpusOnly) {
  perf_event_attr attr = kernel::empty_attr();
  attr.type = kUncorePmu;
  attr.config = 0x0304;
  const auto fd = kernel::open_event(attr, EventScope::everything(0));
  ASSERT_TRUE(fd);
  EXPECT_FALSE(kernel::open_event(attr, EventScope::task(0, 0)));
  attr.sample_period = 1000;
  EXPECT_FALSE(kernel::open_event(attr, EventScope::everything(0)));
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(*base::read_small_file(machine().event_sources() + "/uncore_imc_0/cpumask"), "0\n");
}

TEST_F(FakeMachineTest, SwitchesAreTold) {
  const Task first = played_task(7'000'001);
  const Task second = played_task(7'000'002);
  perf_event_attr attr = kernel::empty_attr();
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.context_switch = 1;
  const auto of_task = open(attr, first);
  const auto of_cpu = kernel::open_event(attr, EventScope::everything(0));
  kernel::RingBuffer task_ring;
  kernel::RingBuffer cpu_ring;
  ASSERT_TRUE(task_ring.map(of_task.get(), 4096));
  ASSERT_TRUE(cpu_ring.map(of_cpu.get(), 4096));
  machine().run(kMillisecond, running(first));
  machine().run(kMillisecond, running(second));
  const auto of_first = take_records(task_ring);
  ASSERT_EQ(of_first.size(), 2u);
  EXPECT_EQ(of_first[0].header.misc, 0);
  EXPECT_EQ(of_first[1].header.misc, PERF_RECORD_MISC_SWITCH_OUT);
  const auto all = take_records(cpu_ring);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[2].header.type, uint32_t{PERF_RECORD_SWITCH_CPU_WIDE});
  EXPECT_EQ(all[2].at<int32_t>(4), second.tid);
}

}  // namespace
}  // namespace tephra::fake
