#include "analysis/wait_kind.h"

#include <gtest/gtest.h>

#include <map>

#include "analysis/folded_for_tests.h"
#include "analysis/profile_for_tests.h"
#include "analysis/wait_frames.h"
#include "stream/wait_states.h"

namespace tephra::analysis {
namespace {

using Functions = std::vector<std::string_view>;

// Stacks of waits as Linux 6.1 has them, innermost first.
TEST(WaitKindTest, ByTheFunctionsOfTheKernel) {
  const auto kind = [](const Functions& functions) { return wait_kind(functions, {.state = "sleeping"}); };
  EXPECT_EQ(kind({"__schedule", "schedule", "futex_wait_queue", "futex_wait", "do_futex", "__x64_sys_futex"}),
            WaitKind::kLock);
  EXPECT_EQ(kind({"__schedule", "schedule", "do_nanosleep", "hrtimer_nanosleep", "common_nsleep"}), WaitKind::kSleep);
  EXPECT_EQ(kind({"schedule", "pipe_read", "vfs_read", "ksys_read"}), WaitKind::kPipe);
  EXPECT_EQ(kind({"schedule", "schedule_timeout", "wait_woken", "sk_wait_data", "tcp_recvmsg_locked.isra.0"}),
            WaitKind::kNetwork);
  EXPECT_EQ(kind({"schedule", "schedule_hrtimeout_range", "ep_poll", "do_epoll_wait"}), WaitKind::kNetwork);
  EXPECT_EQ(kind({"io_schedule", "folio_wait_bit_common", "filemap_read", "ext4_file_read_iter", "vfs_read"}),
            WaitKind::kDisk);
  EXPECT_EQ(kind({"io_schedule", "folio_wait_bit_common", "filemap_fault", "__do_fault", "handle_mm_fault"}),
            WaitKind::kPageFault);
  EXPECT_EQ(kind({"schedule", "rwsem_down_read_slowpath", "down_read", "do_user_addr_fault"}), WaitKind::kLock);
  EXPECT_EQ(kind({"schedule", "do_wait", "kernel_wait4"}), WaitKind::kOther);
  EXPECT_EQ(kind({"schedule", "worker_thread", "kthread"}), WaitKind::kOther);
  EXPECT_EQ(kind({"schedule", "unix_stream_read_generic", "unix_stream_recvmsg", "sock_recvmsg"}), WaitKind::kPipe);
}

TEST(WaitKindTest, WhoIsReadyWaitsForACpu) {
  EXPECT_EQ(wait_kind({"futex_wait"}, {.state = "run queue"}), WaitKind::kRunQueue);
}

TEST(WaitKindTest, WithoutTheKernelsStackBySystemCallAndCause) {
  EXPECT_EQ(wait_kind({}, {.syscall = "futex"}), WaitKind::kLock);
  EXPECT_EQ(wait_kind({}, {.syscall = "clock_nanosleep"}), WaitKind::kSleep);
  EXPECT_EQ(wait_kind({}, {.syscall = "epoll_pwait2"}), WaitKind::kNetwork);
  EXPECT_EQ(wait_kind({}, {.syscall = "read", .cause = "disk"}), WaitKind::kDisk);
  EXPECT_EQ(wait_kind({}, {.syscall = "read"}), WaitKind::kOther);
  EXPECT_EQ(wait_kind({"io_schedule"}, {.cause = "fault"}), WaitKind::kPageFault);
}

model::Profile waits() {
  return TestProfile("offcpu-time")
      .add("main;take;futex_wait@[kernel];schedule@[kernel]", 1, 100)
      .add("main;take;futex_wait@[kernel];schedule@[kernel]", 2, 50)
      .add("main;nap;do_nanosleep@[kernel];schedule@[kernel]", 1, 7)
      .add("main;pipe_read", 1, 1)  // a function of the program
      .finish();
}

TEST(WaitKindTest, OfEverySample) {
  EXPECT_EQ(wait_kinds(waits()), (std::vector{WaitKind::kLock, WaitKind::kLock, WaitKind::kSleep, WaitKind::kOther}));
  EXPECT_TRUE(wait_kinds(TestProfile("cpu-clock").add("futex_wait@[kernel]", 1, 1).finish()).empty());
}

TEST(WaitKindTest, NodesAreOfTheKindOfMostOfTheirWeight) {
  const auto profile = waits();
  const auto tree = call_tree(profile, {.base = BaseFrame::kNone, .keep_leaves = true});
  const auto kinds = kinds_of_nodes(tree, profile, wait_kinds(profile), Weight::kValue);
  std::map<std::string, std::optional<WaitKind>> by_name;
  for (size_t i = 0; i < tree.nodes.size(); ++i) by_name[tree.name(tree.nodes[i]).label] = kinds[i];
  EXPECT_EQ(by_name["main"], WaitKind::kLock);
  EXPECT_EQ(by_name["nap"], WaitKind::kSleep);
  EXPECT_EQ(by_name["pipe_read"], WaitKind::kOther);
  // By how many they are, no kind is most of it.
  const auto by_count = kinds_of_nodes(tree, profile, wait_kinds(profile), Weight::kSamples);
  EXPECT_EQ(by_count[0], std::nullopt);
}

TEST(WaitFramesTest, StandUnderTheStacks) {
  const auto profile = with_wait_frames(waits(), wait_kinds(waits()));
  EXPECT_EQ(folded_values(profile),
            (std::map<std::string, uint64_t>{{"prog;[lock];main;take;futex_wait;schedule", 150},
                                             {"prog;[other wait];main;pipe_read", 1},
                                             {"prog;[sleep];main;nap;do_nanosleep;schedule", 7}}));
  EXPECT_EQ(model::totals(profile), model::totals(waits()));
  EXPECT_EQ(frame_kind(profile, profile.frames.last()), FrameKind::kWaiting);
}

TEST(WaitFramesTest, AreKnownByTheirNames) {
  EXPECT_TRUE(is_wait_frame("[run queue]"));
  EXPECT_TRUE(is_wait_frame("[woken by holder]"));
  EXPECT_FALSE(is_wait_frame("[running]"));
  EXPECT_FALSE(is_wait_frame("[unknown]"));
  EXPECT_FALSE(is_wait_frame("lock"));
  EXPECT_FALSE(is_wait_frame("["));
}

}  // namespace
}  // namespace tephra::analysis
