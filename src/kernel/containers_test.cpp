#include "kernel/containers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "kernel/cgroups.h"
#include "kernel/machine_for_tests.h"

namespace tephra::kernel {
namespace {

const std::string kIdA = "abcd" + std::string(60, '1');
const std::string kIdB = "abcd" + std::string(60, '2');
const std::string kIdC(64, 'c');

TEST(ContainerOfComponent, KnowsTheRuntimes) {
  const auto check = [](const std::string& parent, const std::string& component, const std::string& expected) {
    const auto found = container_of_component(parent, component);
    EXPECT_EQ(found ? found->runtime + ":" + found->id : "", expected) << parent << "/" << component;
  };
  check("/docker", kIdA, "docker:" + kIdA);
  check("/system.slice", "docker-" + kIdA + ".scope", "docker:" + kIdA);
  check("/machine.slice", "libpod-" + kIdA + ".scope", "podman:" + kIdA);
  check("/libpod_parent", "libpod-" + kIdA, "podman:" + kIdA);
  check("/machine.slice", "libpod-conmon-" + kIdA + ".scope", "");
  check("/kubepods.slice/kubepods-pod1.slice", "cri-containerd-" + kIdA + ".scope", "containerd:" + kIdA);
  check("/kubepods/burstable/pod1-2-3", kIdA, "containerd:" + kIdA);
  check("/system.slice/containerd.service", "kubepods-pod1.slice:cri-containerd:" + kIdA, "containerd:" + kIdA);
  check("/kubepods.slice", "crio-" + kIdA + ".scope", "crio:" + kIdA);
  check("/kubepods.slice", "crio-conmon-" + kIdA + ".scope", "");
  check("", "lxc.payload.web", "lxc:web");
  check("", "lxc.monitor.web", "");
  check("/lxc", "web", "lxc:web");
  check("/machine.slice", "systemd-nspawn@web-1.service", "systemd-nspawn:web-1");
  check("/machine.slice", "machine-web\\x2d1.scope", "systemd-nspawn:web-1");
  check("/machine.slice", "machine-qemu\\x2d1\\x2dvm.scope", "");
  check("/ecs/task", kIdA, "container:" + kIdA);
  check("/docker", kIdA.substr(1), "");
  check("/docker", "buildkit", "");
  check("", "docker-.scope", "");
  check("", "machine-.scope", "");
  check("", "", "");
  check("", "machine-\\x.scope", "systemd-nspawn:\\x");
}

class Containers : public testing::Test {
 protected:
  void SetUp() override {
    machine_.write("/proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    machine_.link("/proc/self/ns/pid", "pid:[4026531836]");
    process(1, "/init.scope");
  }
  void process(pid_t pid, const std::string& group, const std::string& pid_namespace = "4026531836") {
    const std::string folder = fmt::format("/proc/{}", pid);
    machine_.write(folder + "/cgroup", "0::" + group + "\n");
    machine_.folder("/sys/fs/cgroup" + group);
    machine_.link(folder + "/ns/pid", "pid:[" + pid_namespace + "]");
  }
  std::vector<Container> running() { return running_containers(machine_.root()); }
  base::Result<Container> find(const std::string& text) { return find_container(text, machine_.root()); }
  std::string failure(const std::string& text) {
    const auto found = find(text);
    return found ? "found " + found->id : found.error().message();
  }

  MachineForTests machine_;
};

TEST_F(Containers, AreFoundWithFolderAndProcesses) {
  process(30, "/system.slice/docker-" + kIdA + ".scope/init");
  process(31, "/system.slice/docker-" + kIdA + ".scope");
  process(20, "/lxc.payload.web/ns");
  const auto found = running();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].runtime, "lxc");
  EXPECT_EQ(found[0].cgroup, machine_.root() + "/sys/fs/cgroup/lxc.payload.web");
  EXPECT_EQ(found[1].id, kIdA);
  EXPECT_EQ(found[1].cgroup, machine_.root() + "/sys/fs/cgroup/system.slice/docker-" + kIdA + ".scope");
  EXPECT_EQ(found[1].first_process, 30);
  EXPECT_EQ(found[1].processes, (std::vector<pid_t>{30, 31}));
}

TEST_F(Containers, InsideOthersCountForBoth) {
  process(30, "/docker/" + kIdA + "/docker/" + kIdB);
  process(29, "/docker/" + kIdA);
  const auto found = running();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].processes, (std::vector<pid_t>{29, 30}));
  EXPECT_EQ(found[1].processes, (std::vector<pid_t>{30}));
}

TEST_F(Containers, KnownByAnotherHierarchyHaveNoFolder) {
  machine_.write("/proc/30/cgroup", "4:memory:/docker/" + kIdA + "\n0::/\n");
  const auto found = running();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].cgroup, "");
  EXPECT_EQ(found[0].processes, (std::vector<pid_t>{30}));
}

TEST_F(Containers, LeaveTheSupervisorOut) {
  process(30, "/machine.slice/systemd-nspawn@web.service/supervisor");
  process(31, "/machine.slice/systemd-nspawn@web.service/payload");
  const auto found = running();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].first_process, 31);
}

TEST_F(Containers, AreAlsoNamespacesOfTheirOwn) {
  process(40, "/user.slice", "4026532555");
  process(41, "/user.slice", "4026532555");
  process(42, "/user.slice", "4026532777");
  machine_.write("/proc/40/root/etc/hostname", "box-1\n");
  machine_.folder("/proc/42/root/etc");
  machine_.link("/proc/42/root/etc/hostname", "/etc/hostname");
  const auto found = running();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].runtime, "namespace");
  EXPECT_EQ(found[0].id, "4026532555");
  EXPECT_EQ(found[0].name, "box-1");
  EXPECT_EQ(found[0].cgroup, "");
  EXPECT_EQ(found[0].processes, (std::vector<pid_t>{40, 41}));
  EXPECT_EQ(found[1].name, "") << "links lead out of the container";
  EXPECT_TRUE(find("box-1").ok());
  EXPECT_TRUE(find("4026532777").ok());
}

TEST_F(Containers, HaveTheNamesOfTheirRuntime) {
  process(30, "/docker/" + kIdA);
  process(31, "/machine.slice/libpod-" + kIdB + ".scope");
  process(32, "/kubepods/pod1/" + kIdC);
  machine_.write("/var/lib/docker/containers/" + kIdA + "/config.v2.json", R"({"State":{"Name":"no"},"Name":"/web"})");
  machine_.write("/home/ann/.local/share/containers/storage/overlay-containers/containers.json",
                 fmt::format(R"([{{"id":"{}","names":["other"]}},{{"id":"{}","names":["db","x"]}}])", kIdC, kIdB));
  machine_.link("/var/log/containers/shop-7d_default_main-" + kIdC + ".log", "/nowhere");
  const auto found = running();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].name, "web");
  EXPECT_EQ(found[1].name, "db");
  EXPECT_EQ(found[2].name, "default/shop-7d/main");
}

TEST_F(Containers, BrokenFilesLeaveNamesEmpty) {
  process(30, "/docker/" + kIdA);
  process(31, "/machine.slice/libpod-" + kIdB + ".scope");
  machine_.write("/var/lib/docker/containers/" + kIdA + "/config.v2.json", R"({"Name":)");
  machine_.write("/var/lib/containers/storage/overlay-containers/containers.json", R"({"id":[]})");
  machine_.write("/var/log/containers/x.log", "");
  machine_.write("/var/log/containers/" + kIdA + ".log", "");
  ::mkfifo((machine_.root() + "/var/lib/containers/storage/overlay-containers/volatile-containers.json").c_str(), 0600);
  for (const Container& each : running()) EXPECT_EQ(each.name, "");
}

TEST_F(Containers, AreFoundByAnyOfTheirNames) {
  process(30, "/docker/" + kIdA);
  process(31, "/machine.slice/libpod-" + kIdB + ".scope");
  process(32, "/kubepods/pod1/" + kIdC);
  process(33, "/lxc.payload.web");
  machine_.write("/var/lib/docker/containers/" + kIdA + "/config.v2.json", R"({"Name":"/web"})");
  machine_.link("/var/log/containers/shop-7d_default_main-" + kIdC + ".log", "/nowhere");
  for (const std::string& text : {kIdA, kIdA.substr(0, 12), std::string("docker:web"), "docker:" + kIdA.substr(0, 4)}) {
    const auto found = find(text);
    ASSERT_TRUE(found.ok()) << text << ": " << found.error().message();
    EXPECT_EQ(found->id, kIdA);
  }
  for (const char* text : {"cccc", "default/shop-7d/main", "shop-7d", "shop-7d/main", "containerd:main"}) {
    const auto found = find(text);
    ASSERT_TRUE(found.ok()) << text << ": " << found.error().message();
    EXPECT_EQ(found->id, kIdC);
  }
  EXPECT_NE(failure("web").find("several containers fit 'web'"), std::string::npos) << failure("web");
  EXPECT_NE(failure("abcd").find("docker:web (abcd11111111), podman:abcd22222222"), std::string::npos);
  EXPECT_NE(failure("shop-7e").find("Did you mean"), std::string::npos) << failure("shop-7e");
  EXPECT_NE(failure("abc").find("Running: docker:web"), std::string::npos) << "three digits are too few";
  EXPECT_NE(failure("hop-7d").find("no such container"), std::string::npos);
  EXPECT_NE(failure("docker:").find("no such container"), std::string::npos);
  EXPECT_NE(failure("::::").find("no such container"), std::string::npos);
}

TEST_F(Containers, SayWhenNoneIsSeenAndWhy) {
  EXPECT_NE(failure("x").find("none is running"), std::string::npos) << failure("x");
  std::filesystem::remove(machine_.root() + "/proc/self/ns/pid");
  machine_.link("/proc/self/ns/pid", "pid:[4026531999]");
  std::filesystem::remove(machine_.root() + "/proc/1/ns/pid");
  EXPECT_NE(failure("x").find("in a container itself"), std::string::npos) << failure("x");
}

TEST_F(Containers, ListAtMostTen) {
  for (int i = 0; i < 15; ++i) process(100 + i, fmt::format("/lxc.payload.box{}", i));
  EXPECT_NE(failure("zzzzzzzzz").find("lxc:box9 and 5 more"), std::string::npos) << failure("zzzzzzzzz");
}

// A real group with a real process in it, removed with the object.
class RealGroup {
 public:
  explicit RealGroup(const std::string& name) {
    const auto hierarchy = cgroup_hierarchy();
    if (!hierarchy) return;
    folder_ = hierarchy->mount_point + "/" + name;
    if (::mkdir(folder_.c_str(), 0755) != 0) {
      folder_.clear();
      return;
    }
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    child_ = ::fork();
    if (child_ == 0) {
      // Ends by itself when the test does.
      char none;
      ::close(ends[1]);
      [[maybe_unused]] const ssize_t got = ::read(ends[0], &none, 1);
      ::_exit(0);
    }
    ::close(ends[0]);
    holder_.reset(ends[1]);
    const base::FileDescriptor file(::open((folder_ + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    const std::string text = std::to_string(child_);
    joined_ = file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }
  ~RealGroup() {
    holder_.reset();
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
    if (!folder_.empty()) ::rmdir(folder_.c_str());
  }

  bool joined() const { return joined_; }
  const std::string& folder() const { return folder_; }
  pid_t child() const { return child_; }

 private:
  std::string folder_;
  base::FileDescriptor holder_;
  pid_t child_ = -1;
  bool joined_ = false;
};

TEST(RealContainer, IsFoundByGroupAndAsContainer) {
  const std::string id = fmt::format("{:064x}", static_cast<unsigned>(::getpid()));
  const std::string name = "docker-" + id + ".scope";
  const RealGroup group(name);
  if (!group.joined()) GTEST_SKIP() << "cannot make a control group here";
  const auto folder = cgroup_folder(name);
  ASSERT_TRUE(folder.ok()) << folder.error().message();
  EXPECT_EQ(*folder, group.folder());
  EXPECT_EQ(processes_in(*folder), (std::vector<pid_t>{group.child()}));
  EXPECT_EQ(cgroup_of(group.child()), "/" + name);
  const auto container = find_container(id);
  ASSERT_TRUE(container.ok()) << container.error().message();
  EXPECT_EQ(container->runtime, "docker");
  EXPECT_EQ(container->cgroup, group.folder());
  EXPECT_EQ(container->first_process, group.child());
}

}  // namespace
}  // namespace tephra::kernel
