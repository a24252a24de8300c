#include "kernel/run_queue_program.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>

#include "base/file.h"
#include "kernel/bpf_config.h"
#include "kernel/rights_for_tests.h"

namespace tephra::kernel {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Two processes that want the same CPU.
class Rivals {
 public:
  Rivals() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    ::sched_getaffinity(0, sizeof allowed, &allowed);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &allowed)) ++cpu;
    for (pid_t& pid : pids_) {
      pid = ::fork();
      if (pid != 0) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      ::sched_setaffinity(0, sizeof one, &one);
      for (;;) asm volatile("");
    }
  }
  ~Rivals() {
    for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
    for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
  }
  bool has(pid_t pid) const { return pid == pids_[0] || pid == pids_[1]; }
  pid_t first() const { return pids_[0]; }

 private:
  std::array<pid_t, 2> pids_{};
};

// The kernel's own count of the time that a thread waited for a CPU.
uint64_t waited_ns(pid_t tid) {
  const auto text = base::read_small_file("/proc/" + std::to_string(tid) + "/schedstat");
  unsigned long long ran = 0;
  unsigned long long waited = 0;
  if (!text.ok() || std::sscanf(text->c_str(), "%llu %llu", &ran, &waited) != 2) return 0;
  return waited;
}

class RunQueueTest : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<RunQueueProgram> start(RunQueueProgram::Settings settings) {
    settings.table = GetParam();
    auto program = RunQueueProgram::start(settings);
    if (!program.ok()) {
      reason_ = program.error().message();
      return nullptr;
    }
    if ((*program)->uses_table() == settings.table) return std::move(program).value();
    reason_ = "this kernel has the slower way alone";
    return nullptr;
  }
  std::string reason_;
};

TEST_P(RunQueueTest, WaitsAddUpToWhatTheKernelCounts) {
  const auto program = start({.threshold = microseconds(100)});
  if (!program) GTEST_SKIP() << reason_;
  const Rivals rivals;
  ::usleep(100'000);
  program->take();
  const uint64_t before = waited_ns(rivals.first());
  uint64_t sum = 0;
  std::string comm;
  for (int i = 0; i < 60; ++i) {
    pollfd wait{program->fd(), POLLIN, 0};
    ::poll(&wait, 1, 100);
    ::usleep(20'000);
    for (const auto& told : program->take()) {
      EXPECT_GE(told.wait_ns, 100'000u);
      if (told.tid != rivals.first()) continue;
      EXPECT_EQ(told.pid, rivals.first());
      sum += told.wait_ns;
      comm = told.comm;
    }
  }
  const uint64_t counted = waited_ns(rivals.first()) - before;
  if (counted == 0) GTEST_SKIP() << "the kernel does not count it";
  ASSERT_GT(counted, 100'000'000u);
  // The waits under way at both ends are in one of the two only.
  EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(counted), static_cast<double>(counted) * 0.2);
  EXPECT_EQ(program->not_told(), 0u);
  EXPECT_FALSE(comm.empty());
}

TEST_P(RunQueueTest, IsQuietAfterOneWasTold) {
  const auto program = start({.threshold = microseconds(100), .quiet = milliseconds(60'000)});
  if (!program) GTEST_SKIP() << reason_;
  const Rivals rivals;
  pollfd wait{program->fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&wait, 1, 30'000), 1);
  ::usleep(300'000);
  const auto told = program->take();
  EXPECT_GE(told.size(), 1u);
  EXPECT_LE(told.size(), 8u);  // CPUs may tell at the same moment
  EXPECT_GT(program->not_told(), 0u);
  // Taken, so there is nothing to wake up for.
  wait.revents = 0;
  EXPECT_EQ(::poll(&wait, 1, 50), 0);
}

TEST_P(RunQueueTest, TellsNothingBelowTheThreshold) {
  const auto program = start({.threshold = std::chrono::hours(1)});
  if (!program) GTEST_SKIP() << reason_;
  const Rivals rivals;
  ::usleep(200'000);
  EXPECT_TRUE(program->take().empty());
  EXPECT_EQ(program->not_told(), 0u);
}

TEST(RunQueue, WithoutRightsSaysWhatIsMissing) {
  EXPECT_EQ(status_without_rights([] { return RunQueueProgram::start({}); }), 0);
}

INSTANTIATE_TEST_SUITE_P(BothWays, RunQueueTest, testing::Bool(),
                         [](const auto& way) { return way.param ? "Table" : "Usual"; });

}  // namespace
}  // namespace tephra::kernel
