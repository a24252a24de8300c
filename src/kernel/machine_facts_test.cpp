#include "kernel/machine_facts.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kernel/process_activity.h"

namespace tephra::kernel {
namespace {

namespace fs = std::filesystem;

// A folder that plays the root of a machine.
class MachineFactsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tephra-machine-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  void put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  std::string root_;
};

TEST_F(MachineFactsTest, SettingsAreReadAndAbsentOnesAreNothing) {
  put("/proc/sys/kernel/perf_event_paranoid", "-1\n");
  put("/proc/sys/kernel/kptr_restrict", "2\n");
  put("/proc/sys/kernel/perf_event_max_stack", "garbage\n");
  const KernelSettings settings = read_settings(root_);
  EXPECT_EQ(settings.paranoid, -1);
  EXPECT_EQ(settings.kptr_restrict, 2);
  EXPECT_FALSE(settings.max_stack);
  EXPECT_FALSE(settings.ptrace_scope);
}

TEST_F(MachineFactsTest, TracefsIsFoundWhereItCanBeRead) {
  EXPECT_FALSE(read_tracefs(root_).in_kernel);
  put("/proc/filesystems", "nodev\tsysfs\nnodev\ttracefs\n\text4\n");
  EXPECT_TRUE(read_tracefs(root_).in_kernel);
  EXPECT_EQ(read_tracefs(root_).mounted_at, "");
  put("/proc/self/mountinfo",
      "25 1 0:6 / /dev rw shared:2 - devtmpfs none rw\n"
      "30 1 0:12 / /elsewhere rw - tracefs nodev rw\n"
      "31 1 0:12 / /sys/kernel/tracing rw,relatime shared:7 - tracefs tracefs rw\n");
  EXPECT_EQ(read_tracefs(root_).mounted_at, "/sys/kernel/tracing");
  EXPECT_FALSE(read_tracefs(root_).readable);
  put("/sys/kernel/tracing/events/enable", "0\n");
  EXPECT_TRUE(read_tracefs(root_).readable);
}

TEST_F(MachineFactsTest, CgroupVersions) {
  put("/proc/self/mountinfo",
      "40 1 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
      "41 1 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"
      "broken line\n");
  const CgroupFacts facts = read_cgroups(root_);
  EXPECT_TRUE(facts.v1);
  EXPECT_FALSE(facts.v1_perf_event);
  EXPECT_EQ(facts.v2_at, "/sys/fs/cgroup/unified");
  put("/proc/self/mountinfo", "40 1 0:30 / /sys/fs/cgroup/perf_event rw - cgroup cgroup rw,perf_event\n");
  EXPECT_TRUE(read_cgroups(root_).v1_perf_event);
}

TEST_F(MachineFactsTest, LockdownClockAndVirtualMachine) {
  EXPECT_EQ(read_lockdown(root_), "");
  put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
  EXPECT_EQ(read_lockdown(root_), "integrity");
  put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  put("/sys/devices/system/clocksource/clocksource0/available_clocksource", "hpet acpi_pm \n");
  EXPECT_EQ(read_clock(root_).source, "hpet");
  EXPECT_EQ(read_clock(root_).available, (std::vector<std::string>{"hpet", "acpi_pm"}));
  EXPECT_FALSE(read_virtual_machine(root_).hypervisor);
  put("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\nbugs\t: x\n");
  put("/proc/stat", "cpu  50 0 30 10 0 0 0 10 0 0\ncpu0 50 0 30 10 0 0 0 10 0 0\n");
  put("/sys/class/dmi/id/sys_vendor", "QEMU\n");
  const VirtualFacts facts = read_virtual_machine(root_);
  EXPECT_TRUE(facts.hypervisor);
  EXPECT_EQ(facts.vendor, "QEMU");
  EXPECT_DOUBLE_EQ(facts.stolen_share, 0.1);
}

TEST_F(MachineFactsTest, CapabilitiesOfAUserNamespaceDoNotCount) {
  put("/proc/self/status", "Name:\tx\nCapEff:\t000000c000000000\nSeccomp:\t2\n");
  fs::create_directories(root_ + "/proc/self/ns");
  fs::create_symlink("user:[4026531837]", root_ + "/proc/self/ns/user");
  fs::create_symlink("pid:[4026532000]", root_ + "/proc/self/ns/pid");
  UserFacts facts = read_user(root_, 1000);
  EXPECT_TRUE(facts.perfmon);
  EXPECT_TRUE(facts.bpf);
  EXPECT_FALSE(facts.ptrace);
  EXPECT_TRUE(facts.seccomp_filter);
  EXPECT_FALSE(facts.user_namespace);
  EXPECT_TRUE(facts.pid_namespace);
  fs::remove(root_ + "/proc/self/ns/user");
  fs::create_symlink("user:[4026532001]", root_ + "/proc/self/ns/user");
  facts = read_user(root_, 0);
  EXPECT_TRUE(facts.user_namespace);
  EXPECT_FALSE(facts.perfmon);
}

TEST_F(MachineFactsTest, KernelAddressesAreHiddenWhenAllAreZero) {
  EXPECT_FALSE(kernel_addresses_shown(root_));
  put("/proc/kallsyms", "0000000000000000 T _text\n0000000000000000 T start\n");
  EXPECT_FALSE(kernel_addresses_shown(root_));
  put("/proc/kallsyms", "0000000000000000 A fixed_percpu_data\nffffffff81000000 T _text\n");
  EXPECT_TRUE(kernel_addresses_shown(root_));
}

TEST(Container, IsToldByTheControlGroup) {
  const std::string id(64, 'a');
  const auto kind_and_id = [](const std::string& text) {
    const ContainerMark found = container_mark(text);
    return found.kind + " " + found.id;
  };
  EXPECT_EQ(kind_and_id("0::/user.slice/user-0.slice/session-1.scope\n"), " ");
  EXPECT_EQ(kind_and_id("0::/\n"), " ");
  EXPECT_EQ(kind_and_id(""), " ");
  EXPECT_EQ(kind_and_id("12:cpu:/docker/" + id + "\n0::/\n"), "docker " + id);
  EXPECT_EQ(kind_and_id("0::/system.slice/docker-" + id + ".scope\n"), "docker " + id);
  EXPECT_EQ(kind_and_id("0::/machine.slice/libpod-" + id + ".scope/container\n"), "podman " + id);
  EXPECT_EQ(kind_and_id("0::/kubepods.slice/kubepods-podx.slice/cri-containerd-" + id + ".scope\n"),
            "kubernetes " + id);
  EXPECT_EQ(kind_and_id("3:cpu:/kubepods/besteffort/pod12/" + id + "\n"), "kubernetes " + id);
  EXPECT_EQ(kind_and_id("0::/lxc.payload.web/system.slice\n"), "lxc web");
  EXPECT_EQ(kind_and_id("3:cpu:/lxc/web\n"), "lxc web");
  EXPECT_EQ(kind_and_id("0::/machine.slice/systemd-nspawn@box.service/payload\n"), "systemd-nspawn box");
  EXPECT_EQ(kind_and_id("0::/machine.slice/machine-qemu\\x2d1\\x2dvm.scope\n"), " ");
  EXPECT_EQ(kind_and_id("0::/docker/short\n"), " ");
}

TEST(ProcessActivity, StatSurvivesAnyName) {
  const auto stat = parse_task_stat("7 (a) R (b) D 1 2 3 4 5 6 70 8 90 10 11 12 13 14\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'D');
  EXPECT_EQ(stat->minor_faults, 70u);
  EXPECT_EQ(stat->major_faults, 90u);
  EXPECT_EQ(stat->user_ticks, 11u);
  EXPECT_EQ(stat->system_ticks, 12u);
  EXPECT_FALSE(parse_task_stat(""));
  EXPECT_FALSE(parse_task_stat("7 (name"));
  EXPECT_FALSE(parse_task_stat("7 (name) R 1 2"));
}

TEST(ProcessActivity, NobodyIsNothing) {
  EXPECT_FALSE(watch_process(0x3fffffff, std::chrono::milliseconds(10)));
  const auto ours = watch_process(::getpid(), std::chrono::milliseconds(60));
  ASSERT_TRUE(ours);
  EXPECT_GE(ours->threads, 1u);
  EXPECT_GE(ours->looks, 1u);
  EXPECT_FALSE(ours->ended);
}

}  // namespace
}  // namespace tephra::kernel
