// Asks the real kernel and the fake machine the same questions. Only events that every machine has are used.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "fake_machine.h"

namespace tephra::fake {
namespace {

// The calls, for real or on the fake machine.
struct Kernel {
  virtual ~Kernel() = default;
  virtual int open(perf_event_attr& attr, pid_t pid, int cpu, int group, unsigned long flags) = 0;
  virtual int control(int fd, unsigned long request, unsigned long argument) = 0;
  virtual ssize_t read(int fd, void* to, size_t bytes) = 0;
  virtual void* map(int fd, size_t bytes) = 0;
};

struct RealKernel : Kernel {
  int open(perf_event_attr& attr, pid_t pid, int cpu, int group, unsigned long flags) override {
    return static_cast<int>(::syscall(SYS_perf_event_open, &attr, pid, cpu, group, flags));
  }
  int control(int fd, unsigned long request, unsigned long argument) override { return ::ioctl(fd, request, argument); }
  ssize_t read(int fd, void* to, size_t bytes) override { return ::read(fd, to, bytes); }
  void* map(int fd, size_t bytes) override {
    void* memory = ::mmap(nullptr, static_cast<size_t>(::sysconf(_SC_PAGESIZE)) + bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? nullptr : memory;
  }
};

struct PlayedKernel : Kernel {
  int open(perf_event_attr& attr, pid_t pid, int cpu, int group, unsigned long flags) override {
    return machine().open(attr, pid, cpu, group, flags);
  }
  int control(int fd, unsigned long request, unsigned long argument) override {
    return machine().control(fd, request, argument);
  }
  ssize_t read(int fd, void* to, size_t bytes) override { return machine().read(fd, to, bytes); }
  void* map(int fd, size_t bytes) override { return machine().map(fd, bytes, true); }
};

perf_event_attr dummy() {
  perf_event_attr attr{};
  attr.size = PERF_ATTR_SIZE_VER5;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.exclude_kernel = 1;
  return attr;
}

using Change = std::function<void(perf_event_attr&)>;

// The errno of opening an event like this, 0 where it opens.
int opening(Kernel& kernel, const Change& change, pid_t pid = 0, int cpu = -1, int group = -1,
            unsigned long flags = 0) {
  perf_event_attr attr = dummy();
  change(attr);
  errno = 0;
  const int fd = kernel.open(attr, pid, cpu, group, flags);
  const int error = fd < 0 ? errno : 0;
  if (fd >= 0) ::close(fd);
  return error;
}

struct Question {
  std::string name;
  Change change;
};

class Conformance : public ::testing::Test {
 protected:
  void SetUp() override {
    machine().reset();
    perf_event_attr attr = dummy();
    const int fd = real_.open(attr, 0, -1, -1, 0);
    if (fd < 0) GTEST_SKIP() << "the real kernel opens no events: " << std::strerror(errno);
    ::close(fd);
  }
  void expect_same(const std::string& what, const std::function<int(Kernel&)>& ask) {
    const int real = ask(real_);
    const int fake = ask(fake_);
    EXPECT_EQ(fake, real) << what << ": the kernel says " << std::strerror(real) << ", the fake "
                          << std::strerror(fake);
  }
  int open(Kernel& kernel, const Change& change = {}, int group = -1, int cpu = -1) {
    perf_event_attr attr = dummy();
    if (change) change(attr);
    return kernel.open(attr, 0, cpu, group, PERF_FLAG_FD_CLOEXEC);
  }

  RealKernel real_;
  PlayedKernel fake_;
};

TEST_F(Conformance, RefusesTheSameAttributes) {
  const std::vector<Question> questions{
      {"nothing wrong", [](auto&) {}},
      {"size 0", [](auto& a) { a.size = 0; }},
      {"size 63", [](auto& a) { a.size = 63; }},
      {"size 4097", [](auto& a) { a.size = 4097; }},
      {"unknown sample type", [](auto& a) { a.sample_type = uint64_t{1} << 40; }},
      {"unknown read format", [](auto& a) { a.read_format = uint64_t{1} << 40; }},
      {"both weights", [](auto& a) { a.sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT; }},
      {"no registers", [](auto& a) { a.sample_type = PERF_SAMPLE_REGS_USER; }},
      {"registers", [](auto& a) { a.sample_type = PERF_SAMPLE_REGS_USER, a.sample_regs_user = 0xff0fff; }},
      {"crooked stack", [](auto& a) { a.sample_type = PERF_SAMPLE_STACK_USER, a.sample_stack_user = 12; }},
      {"empty stack", [](auto& a) { a.sample_type = PERF_SAMPLE_STACK_USER; }},
      {"large stack", [](auto& a) { a.sample_type = PERF_SAMPLE_STACK_USER, a.sample_stack_user = 65536; }},
      {"branches of no kind", [](auto& a) { a.sample_type = PERF_SAMPLE_BRANCH_STACK; }},
      {"branches without a PMU",
       [](auto& a) { a.sample_type = PERF_SAMPLE_BRANCH_STACK, a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY; }},
      {"no such software event", [](auto& a) { a.config = 99; }},
      {"no such type", [](auto& a) { a.type = 7777; }},
      {"a precise clock", [](auto& a) { a.config = PERF_COUNT_SW_CPU_CLOCK, a.precise_ip = 1; }},
      {"a clock for times", [](auto& a) { a.use_clockid = 1, a.clockid = CLOCK_MONOTONIC; }},
      {"not a clock for times", [](auto& a) { a.use_clockid = 1, a.clockid = CLOCK_PROCESS_CPUTIME_ID; }},
      {"too often", [](auto& a) { a.freq = 1, a.sample_freq = 1u << 31; }},
      {"a period without end", [](auto& a) { a.sample_period = uint64_t{1} << 63; }},
      {"reads in samples, inherited, of unknown tasks",
       [](auto& a) { a.inherit = 1, a.sample_type = PERF_SAMPLE_READ; }},
      {"groups read, inherited", [](auto& a) { a.inherit = 1, a.read_format = PERF_FORMAT_GROUP; }},
      {"threads alone inherit, but nobody does", [](auto& a) { a.inherit_thread = 1; }},
      {"removed and enabled on exec", [](auto& a) { a.remove_on_exec = a.enable_on_exec = 1; }},
      {"a trap without removal", [](auto& a) { a.sigtrap = 1; }},
  };
  for (const Question& question : questions) {
    expect_same(question.name, [&](Kernel& kernel) { return opening(kernel, question.change); });
  }
}

TEST_F(Conformance, RefusesTheSameTargets) {
  const auto with = [](pid_t pid, int cpu, int group, unsigned long flags) {
    return [=](Kernel& kernel) {
      return opening(
          kernel, [](auto&) {}, pid, cpu, group, flags);
    };
  };
  expect_same("a CPU that cannot be", with(0, 99'999, -1, 0));
  expect_same("everything everywhere", with(-1, -1, -1, 0));
  expect_same("no such task", with(0x7ffffff0, -1, -1, 0));
  expect_same("a group of a closed descriptor", with(0, -1, 9'999, 0));
  expect_same("unknown flags", with(0, -1, -1, 1 << 9));
  expect_same("a control group of a closed descriptor", with(9'999, 0, -1, PERF_FLAG_PID_CGROUP));
  expect_same("a control group on all CPUs", with(0, -1, -1, PERF_FLAG_PID_CGROUP));
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  expect_same("a group of another file", with(0, -1, null, 0));
  expect_same("a control group that is a file", with(null, 0, -1, PERF_FLAG_PID_CGROUP));
  ::close(null);
}

TEST_F(Conformance, RefusesTheSameGroups) {
  const auto member = [&](const Change& change, int cpu = -1) {
    return [=, this](Kernel& kernel) {
      const int leader = open(kernel);
      const int error = opening(kernel, change, 0, cpu, leader);
      ::close(leader);
      return error;
    };
  };
  expect_same("a plain member", member([](auto&) {}));
  expect_same("a pinned member", member([](auto& a) { a.pinned = 1; }));
  expect_same("an exclusive member", member([](auto& a) { a.exclusive = 1; }));
  expect_same("a member on one CPU", member([](auto&) {}, 0));
  expect_same("a member with another clock", member([](auto& a) { a.use_clockid = 1, a.clockid = CLOCK_MONOTONIC; }));
  expect_same("a member that is inherited", member([](auto& a) { a.inherit = 1; }));
  expect_same("a member of a member", [&](Kernel& kernel) {
    const int leader = open(kernel);
    const int first = open(kernel, {}, leader);
    const int error = opening(
        kernel, [](auto&) {}, 0, -1, first);
    ::close(first);
    ::close(leader);
    return error;
  });
}

TEST_F(Conformance, RefusesTheSameControl) {
  const auto doing = [&](const std::function<int(Kernel&, int fd)>& act, const Change& change = {}) {
    return [=, this](Kernel& kernel) {
      const int fd = open(kernel, change);
      errno = 0;
      const int error = act(kernel, fd) < 0 ? errno : 0;
      ::close(fd);
      return error;
    };
  };
  const auto ioctl = [](unsigned long request, unsigned long argument) {
    return [=](Kernel& kernel, int fd) { return kernel.control(fd, request, argument); };
  };
  static const uint64_t kZero = 0;
  expect_same("enable", doing(ioctl(PERF_EVENT_IOC_ENABLE, 0)));
  expect_same("no such request", doing(ioctl(_IO('$', 77), 0)));
  expect_same("refresh what samples not", doing(ioctl(PERF_EVENT_IOC_REFRESH, 1)));
  expect_same("no period", doing(ioctl(PERF_EVENT_IOC_PERIOD, reinterpret_cast<unsigned long>(&kZero))));
  expect_same("pause without a ring", doing(ioctl(PERF_EVENT_IOC_PAUSE_OUTPUT, 1)));
  expect_same("output to nothing", doing(ioctl(PERF_EVENT_IOC_SET_OUTPUT, static_cast<unsigned long>(-1))));
  expect_same("output to a closed descriptor", doing(ioctl(PERF_EVENT_IOC_SET_OUTPUT, 9'999)));
  expect_same("filter what has no fields",
              doing(ioctl(PERF_EVENT_IOC_SET_FILTER, reinterpret_cast<unsigned long>("x > 1"))));
  expect_same("output to itself", doing([](Kernel& kernel, int fd) {
                return kernel.control(fd, PERF_EVENT_IOC_SET_OUTPUT, static_cast<unsigned long>(fd));
              }));
  expect_same("a short read", doing(
                                  [](Kernel& kernel, int fd) {
                                    uint64_t word;
                                    return static_cast<int>(kernel.read(fd, &word, sizeof word));
                                  },
                                  [](auto& a) { a.read_format = PERF_FORMAT_ID; }));
  expect_same("a ring of three pages", doing([](Kernel& k, int fd) { return k.map(fd, 3 * 4096) ? 0 : -1; }));
  expect_same("a ring of an inherited event",
              doing([](Kernel& k, int fd) { return k.map(fd, 4096) ? 0 : -1; }, [](auto& a) { a.inherit = 1; }));
  expect_same("two rings of different sizes", doing([](Kernel& kernel, int fd) {
                return kernel.map(fd, 8192) != nullptr && kernel.map(fd, 4096) != nullptr ? 0 : -1;
              }));
  expect_same("the same ring twice", doing([](Kernel& kernel, int fd) {
                return kernel.map(fd, 8192) != nullptr && kernel.map(fd, 8192) != nullptr ? 0 : -1;
              }));
}

TEST_F(Conformance, RefusesTheSameRedirections) {
  struct Case {
    std::string name;
    Change writer;
    int writer_cpu = 0;
    bool owner_mapped = true;
    bool writer_mapped = false;
  };
  const std::vector<Case> cases{
      {"plain", [](auto&) {}},
      {"another CPU", [](auto&) {}, -1},
      {"another clock", [](auto& a) { a.use_clockid = 1, a.clockid = CLOCK_MONOTONIC; }},
      {"another direction", [](auto& a) { a.write_backward = 1; }},
      {"an event without a ring", [](auto&) {}, 0, false},
      {"an event with a ring of its own", [](auto&) {}, 0, true, true},
      {"inherited", [](auto& a) { a.inherit = 1; }},
  };
  for (const Case& each : cases) {
    expect_same(each.name, [&](Kernel& kernel) {
      const int owner = open(kernel, {}, -1, 0);
      const int writer = open(kernel, each.writer, -1, each.writer_cpu);
      EXPECT_GE(writer, 0);
      if (each.owner_mapped) {
        EXPECT_NE(kernel.map(owner, 4096), nullptr);
      }
      if (each.writer_mapped) {
        EXPECT_NE(kernel.map(writer, 4096), nullptr);
      }
      errno = 0;
      const int error =
          kernel.control(writer, PERF_EVENT_IOC_SET_OUTPUT, static_cast<unsigned long>(owner)) < 0 ? errno : 0;
      ::close(writer);
      ::close(owner);
      return error;
    });
  }
}

TEST_F(Conformance, ReadsHaveTheSameLayout) {
  for (uint64_t format = 0; format < 32; ++format) {
    const auto bytes = [&](Kernel& kernel) {
      const auto set = [&](auto& attr) { attr.read_format = format; };
      const int leader = open(kernel, set);
      const int member = open(kernel, set, leader);
      uint64_t words[16];
      const auto got = static_cast<int>(kernel.read(leader, words, sizeof words));
      ::close(member);
      ::close(leader);
      return got;
    };
    if (opening(real_, [&](auto& attr) { attr.read_format = format; }) != 0) continue;  // an older kernel
    expect_same("read format " + std::to_string(format), bytes);
  }
}

}  // namespace
}  // namespace tephra::fake
