#include "kernel/cgroups.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "kernel/machine_for_tests.h"

namespace tephra::kernel {
namespace {

constexpr const char* kVersion2 = "41 31 0:38 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kHybrid =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
constexpr const char* kVersion1 =
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /sys/fs/cgroup/perf_event rw - cgroup cgroup rw,perf_event\n";

TEST(Cgroups, FindsTheHierarchyThatEventsUse) {
  EXPECT_EQ(parse_cgroup_mounts(kVersion2)->mount_point, "/sys/fs/cgroup");
  EXPECT_TRUE(parse_cgroup_mounts(kVersion2)->version2);
  EXPECT_EQ(parse_cgroup_mounts(kHybrid)->mount_point, "/sys/fs/cgroup/unified");
  EXPECT_EQ(parse_cgroup_mounts(kVersion1)->mount_point, "/sys/fs/cgroup/perf_event");
  EXPECT_FALSE(parse_cgroup_mounts(kVersion1)->version2);
  const auto part = parse_cgroup_mounts("1 2 0:3 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
  EXPECT_EQ(part->mounted_path, "/docker/x");
  const auto whole =
      parse_cgroup_mounts("1 2 0:3 /a /mnt/a rw - cgroup2 c rw\n1 2 0:3 / /mnt/b\\040c rw - cgroup2 c rw");
  EXPECT_EQ(whole->mount_point, "/mnt/b c");
}

TEST(Cgroups, FindsNoHierarchyInOtherText) {
  for (const char* text : {"", "\n", "cgroup2", " - cgroup2 x", "1 2 3 / - cgroup2", "1 2 3 / /x rw - tmpfs t rw",
                           "1 2 3 / /x rw - cgroup c rw,perf_events", "1 2 3 / /x rw cgroup2 x rw"}) {
    EXPECT_FALSE(parse_cgroup_mounts(text).has_value()) << text;
  }
}

TEST(Cgroups, ReadsTheLinesOfAProcess) {
  const auto lines = parse_cgroup_lines("9:name=systemd:/a\n4:cpu,perf_event:/b:c\n0::/d\nbroken\n5:x\n");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1].controllers, "cpu,perf_event");
  EXPECT_EQ(lines[1].path, "/b:c");
  EXPECT_TRUE(lines[1].belongs_to(*parse_cgroup_mounts(kVersion1)));
  EXPECT_FALSE(lines[1].belongs_to(*parse_cgroup_mounts(kVersion2)));
  EXPECT_TRUE(lines[2].version2());
  EXPECT_EQ(lines[2].path, "/d");
  EXPECT_TRUE(lines[2].belongs_to(*parse_cgroup_mounts(kVersion2)));
}

class CgroupFolder : public testing::Test {
 protected:
  void SetUp() override {
    machine_.write("/proc/self/mountinfo", kVersion2);
    machine_.folder("/sys/fs/cgroup/system.slice/cron.service");
    machine_.folder("/sys/fs/cgroup/user.slice");
    machine_.folder("/tmp/elsewhere");
  }
  std::string group(const std::string& name) { return machine_.root() + "/sys/fs/cgroup/" + name; }

  MachineForTests machine_;
};

TEST_F(CgroupFolder, TakesNamesAsPerfDoes) {
  for (const std::string& name : {std::string("system.slice/cron.service"), std::string("/system.slice/cron.service"),
                                  std::string("system.slice//cron.service/"), group("system.slice/cron.service")}) {
    const auto folder = cgroup_folder(name, machine_.root());
    ASSERT_TRUE(folder.ok()) << name;
    EXPECT_EQ(*folder, group("system.slice/cron.service"));
  }
  const auto top = cgroup_folder("/", machine_.root());
  ASSERT_TRUE(top.ok());
  EXPECT_EQ(*top, machine_.root() + "/sys/fs/cgroup");
}

TEST_F(CgroupFolder, NamesWhatIsNear) {
  const auto typo = cgroup_folder("user.slcie", machine_.root());
  ASSERT_FALSE(typo.ok());
  EXPECT_EQ(typo.error().kind, base::Error::Kind::kUsage);
  EXPECT_NE(typo.error().message().find("Did you mean user.slice?"), std::string::npos) << typo.error().message();
  const auto last_part = cgroup_folder("cron.service", machine_.root());
  ASSERT_FALSE(last_part.ok());
  EXPECT_NE(last_part.error().message().find("Did you mean system.slice/cron.service?"), std::string::npos);
}

TEST_F(CgroupFolder, RefusesWhatIsNoGroup) {
  for (const std::string& name : {std::string(), std::string("no"), std::string("../../../tmp/elsewhere"),
                                  machine_.root() + "/tmp/elsewhere", std::string("/etc"), std::string("..")}) {
    EXPECT_FALSE(cgroup_folder(name, machine_.root()).ok()) << name;
  }
  const auto elsewhere = cgroup_folder(machine_.root() + "/tmp/elsewhere", machine_.root());
  EXPECT_NE(elsewhere.error().message().find("not of the hierarchy"), std::string::npos);
}

TEST_F(CgroupFolder, SaysThatNamesAreRelativeInAContainer) {
  machine_.link("/proc/self/ns/cgroup", "cgroup:[4026532000]");
  const auto missing = cgroup_folder("no", machine_.root());
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message().find("in a container"), std::string::npos) << missing.error().message();
}

TEST_F(CgroupFolder, SaysWhenNothingIsMounted) {
  machine_.write("/proc/self/mountinfo", "31 23 0:28 / / rw - ext4 x rw\n");
  const auto folder = cgroup_folder("a", machine_.root());
  ASSERT_FALSE(folder.ok());
  EXPECT_NE(folder.error().message().find("mount -t cgroup2"), std::string::npos);
}

TEST_F(CgroupFolder, ListsProcessesOfAllGroupsBelow) {
  machine_.write("/sys/fs/cgroup/system.slice/cgroup.procs", "12\n7\n0\n");
  machine_.write("/sys/fs/cgroup/system.slice/cron.service/cgroup.procs", "300\n12\nx\n");
  EXPECT_EQ(processes_in(group("system.slice")), (std::vector<pid_t>{7, 12, 300}));
  EXPECT_TRUE(processes_in(group("gone")).empty());
}

TEST_F(CgroupFolder, KnowsTheGroupOfAProcess) {
  machine_.write("/proc/5/cgroup", "4:perf_event:/wrong\n0::/user.slice\n");
  EXPECT_EQ(cgroup_of(5, machine_.root()), "/user.slice");
  EXPECT_EQ(cgroup_of(6, machine_.root()), "");
}

TEST_F(CgroupFolder, FindsFoldersOfGroupsWithinReach) {
  CgroupHierarchy hierarchy{machine_.root() + "/sys/fs/cgroup", "/", true};
  EXPECT_EQ(folder_of_group(hierarchy, "/user.slice"), group("user.slice"));
  EXPECT_EQ(folder_of_group(hierarchy, "/"), hierarchy.mount_point);
  EXPECT_EQ(folder_of_group(hierarchy, "/../user.slice"), "");
  EXPECT_EQ(folder_of_group(hierarchy, "/gone"), "");
  hierarchy.mounted_path = "/docker/x";
  EXPECT_EQ(folder_of_group(hierarchy, "/docker/x/user.slice"), group("user.slice"));
  EXPECT_EQ(folder_of_group(hierarchy, "/docker/x"), hierarchy.mount_point);
  EXPECT_EQ(folder_of_group(hierarchy, "/docker/xy"), "");
  EXPECT_EQ(folder_of_group(hierarchy, "/user.slice"), "");
}

}  // namespace
}  // namespace tephra::kernel
