#include "kernel/procfs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace tephra::kernel {
namespace {

TEST(Procfs, ParsesMapLines) {
  const auto map = parse_map_line("7f4a035b7000-7f4a035dd000 r-xp 00001000 fe:00 332383     /usr/lib/a b.so (deleted)");
  ASSERT_TRUE(map.has_value());
  EXPECT_EQ(map->start, 0x7f4a035b7000u);
  EXPECT_EQ(map->end, 0x7f4a035dd000u);
  EXPECT_EQ(map->offset, 0x1000u);
  EXPECT_EQ(map->major, 0xfeu);
  EXPECT_EQ(map->inode, 332383u);
  EXPECT_TRUE(map->executable);
  EXPECT_FALSE(map->writable);
  EXPECT_EQ(map->path, "/usr/lib/a b.so (deleted)");
  const auto anonymous = parse_map_line("1000-2000 rwxp 00000000 00:00 0 ");
  ASSERT_TRUE(anonymous.has_value());
  EXPECT_TRUE(anonymous->path.empty());
}

TEST(Procfs, RefusesBrokenMapLines) {
  for (const char* line :
       {"", "x", "1000-", "1000-2000", "1000-2000 r", "2000-1000 r-xp 0 0:0 0", "1000-2000 r-xp zz"}) {
    EXPECT_FALSE(parse_map_line(line).has_value()) << line;
  }
}

TEST(Procfs, ParsesCpuLists) {
  EXPECT_EQ(parse_cpu_list("0-3,8\n"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cpu_list("5"), (std::vector<int>{5}));
  EXPECT_EQ(parse_cpu_list("1,0,1"), (std::vector<int>{0, 1}));
  for (const char* text : {"", "a", "3-1", "1,", "-1", "0-99999999", "1 2"}) {
    EXPECT_FALSE(parse_cpu_list(text).has_value()) << text;
  }
}

TEST(Procfs, KnowsThisProcess) {
  const auto task = task_status(::getpid());
  ASSERT_TRUE(task.has_value());
  EXPECT_EQ(task->tgid, ::getpid());
  EXPECT_EQ(task->ppid, ::getppid());
  EXPECT_FALSE(threads_of(::getpid()).empty());
  EXPECT_FALSE(task_status(0x7ffffff0).has_value());
  EXPECT_TRUE(threads_of(0x7ffffff0).empty());
}

TEST(Procfs, ReadsTaskStates) {
  EXPECT_EQ(parse_task_state("5 (a) R 1"), TaskState::kRunning);
  EXPECT_EQ(parse_task_state("5 (a) Z) t 1 2 3"), TaskState::kTraced) << "a name may look like fields";
  EXPECT_EQ(parse_task_state("5 (a) D 1"), TaskState::kBlocked);
  EXPECT_EQ(parse_task_state("5 (a) T 1"), TaskState::kStopped);
  EXPECT_EQ(parse_task_state("5 (a) Z 1"), TaskState::kZombie);
  EXPECT_EQ(parse_task_state("5 (a) X 1"), TaskState::kDead);
  EXPECT_EQ(parse_task_state("5 (a) S 1"), TaskState::kSleeping);
  for (const char* text : {"", "5", "5 (a)", "5 (a) ", "5 (a)R", "5 (a) ?"}) {
    EXPECT_FALSE(parse_task_state(text).has_value()) << text;
  }
  EXPECT_EQ(task_state(::getpid()), TaskState::kRunning);
  EXPECT_FALSE(task_state(0x7ffffff0).has_value());
}

TEST(Procfs, ReadsCpuTimes) {
  const auto cpus = parse_cpu_times("cpu  9 9 9 9\ncpu0 100 10 20 300 40 5 6 7 8 9\ncpu3 1 2 3\nintr 5\ncpux 1\n", 100);
  ASSERT_EQ(cpus.size(), 2u);
  EXPECT_EQ(cpus[0].cpu, 0);
  EXPECT_DOUBLE_EQ(cpus[0].times.user, 1.1);
  EXPECT_DOUBLE_EQ(cpus[0].times.system, 0.2);
  EXPECT_DOUBLE_EQ(cpus[0].times.idle, 3);
  EXPECT_DOUBLE_EQ(cpus[0].times.waiting, 0.4);
  EXPECT_DOUBLE_EQ(cpus[0].times.interrupts, 0.11);
  EXPECT_DOUBLE_EQ(cpus[0].times.steal, 0.07);
  EXPECT_DOUBLE_EQ(cpus[0].times.total(), 4.88);
  EXPECT_EQ(cpus[1].cpu, 3);
  EXPECT_EQ(cpu_times().size(), online_cpus().size());
}

TEST(Procfs, CountsThreads) {
  const size_t before = thread_count(::getpid());
  EXPECT_EQ(before, threads_of(::getpid()).size());
  std::atomic<bool> done = false;
  std::thread other([&] { done.wait(false); });
  EXPECT_EQ(thread_count(::getpid()), before + 1);
  done = true;
  done.notify_all();
  other.join();
  EXPECT_EQ(thread_count(0x7ffffff0), 0u);
}

TEST(Procfs, FirstStackEndIsTheTwentyEighthField) {
  const std::string before = "5 (a) b) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24";
  EXPECT_EQ(parse_first_stack_end(before + " 140722918 99\n"), 140722918u);
  EXPECT_EQ(parse_first_stack_end(before + " 140722918"), 140722918u);
  for (const std::string& text :
       {before, before + " 0 99", before + " x 99", before + " -1", std::string(), std::string("5 (a")}) {
    EXPECT_FALSE(parse_first_stack_end(text).has_value()) << text;
  }
}

TEST(Procfs, FirstStackEndIsAboveOurFrames) {
  const auto end = first_stack_end(::getpid());
  ASSERT_TRUE(end.has_value());
  // Tests run in the first thread.
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  EXPECT_GT(*end, here);
  EXPECT_LT(*end - here, uint64_t{8} << 20);
  EXPECT_FALSE(first_stack_end(0).has_value());
}

}  // namespace
}  // namespace tephra::kernel
