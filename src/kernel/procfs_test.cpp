#include "kernel/procfs.h"

#include <gtest/gtest.h>
#include <unistd.h>

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

}  // namespace
}  // namespace tephra::kernel
