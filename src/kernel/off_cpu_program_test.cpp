#include "kernel/off_cpu_program.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "kernel/bpf_config.h"
#include "kernel/rights_for_tests.h"

namespace tephra::kernel {
namespace {

using std::chrono::nanoseconds;

// Adds up what it hears.
class Account : public OffCpuProgram::Listener {
 public:
  struct Sum {
    uint64_t ns = 0;
    uint64_t count = 0;
  };
  std::array<Sum, TEPHRA_OFF_CPU_STATES> by_state{};
  std::map<uint32_t, uint64_t> by_thread;
  Sum without_stack;
  Sum single;
  std::set<uint64_t> stacks;
  uint64_t unknown_stacks = 0;  // that waits referred to before they came
  std::set<uint32_t> flags;

  uint64_t all_ns() const {
    uint64_t ns = 0;
    for (const Sum& sum : by_state) ns += sum.ns;
    return ns;
  }

  void hear(const TakenStack& stack) override { stacks.insert(stack.head.hash); }
  void hear(const tephra_wait_told& wait) override {
    single.ns += wait.ns;
    single.count += wait.count;
    add(wait.key, wait.ns, wait.count);
  }
  void hear(const tephra_waker_told&) override {}
  void hear(const tephra_wait_key& key, const tephra_wait_sum& sum) override { add(key, sum.ns, sum.count); }
  void hear(const tephra_walk_wanted&) override {}

 private:
  void add(const tephra_wait_key& key, uint64_t ns, uint64_t count) {
    by_state.at(key.state).ns += ns;
    by_state.at(key.state).count += count;
    by_thread[key.tid] += ns;
    flags.insert(key.flags);
    unknown_stacks += key.stack != 0 && !stacks.contains(key.stack);
    if ((key.flags & TEPHRA_WAIT_NO_STACK) == 0) return;
    without_stack.ns += ns;
    without_stack.count += count;
  }
};

// A process with threads that wait in turns of each other, many times.
class Ponging {
 public:
  Ponging(int pairs, bool sleeps) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    std::vector<std::thread> threads;
    for (int pair = 0; pair < pairs; ++pair) {
      std::array<int, 2> there{};
      std::array<int, 2> back{};
      if (::pipe(there.data()) != 0 || ::pipe(back.data()) != 0) ::_exit(1);
      threads.emplace_back([=] { pass_on(there[0], back[1]); });
      threads.emplace_back([=] { pass_on(back[0], there[1]); });
      if (!sleeps && ::write(there[1], "x", 1) != 1) ::_exit(1);
    }
    for (std::thread& thread : threads) thread.join();
    ::_exit(0);
  }
  ~Ponging() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  static void pass_on(int from, int to) {
    char byte = 0;
    while (::read(from, &byte, 1) == 1 && ::write(to, &byte, 1) == 1) {
    }
  }
  pid_t pid_ = 0;
};

void rest(long ms) {
  const timespec time{ms / 1000, ms % 1000 * 1'000'000};
  ::nanosleep(&time, nullptr);
}

class OffCpuProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    auto trial = OffCpuProgram::load({});
    if (!trial.ok()) GTEST_SKIP() << trial.error().message();
  }
  // Watches for some time; the elapsed nanoseconds.
  static uint64_t watch(const OffCpuProgram::Settings& settings, Account& account, long ms) {
    auto program = OffCpuProgram::load(settings);
    if (!program.ok()) {
      ADD_FAILURE() << program.error().message();
      return 0;
    }
    EXPECT_TRUE((*program)->begin(account).ok());
    for (long rested = 0; rested < ms; rested += 50) {
      rest(50);
      EXPECT_TRUE((*program)->read_all(account).ok());
    }
    EXPECT_TRUE((*program)->stop(account).ok());
    return (*program)->stopped_ns() - (*program)->begun_ns();
  }
};

// All time of every thread is told: on a CPU, waiting, and in between.
TEST_F(OffCpuProgramTest, AccountsForAllTimeOfThreads) {
  const Ponging ponging(2, false);
  rest(50);
  Account account;
  OffCpuProgram::Settings settings;
  settings.whom.processes = {ponging.pid()};
  settings.running = settings.split_wakeups = true;
  const uint64_t elapsed = watch(settings, account, 300);
  ASSERT_EQ(account.by_thread.size(), 5u);
  for (const auto& [tid, ns] : account.by_thread) {
    EXPECT_NEAR(static_cast<double>(ns), static_cast<double>(elapsed), 0.001 * static_cast<double>(elapsed)) << tid;
  }
  EXPECT_EQ(account.without_stack.count, 0u);
  EXPECT_EQ(account.unknown_stacks, 0u);
  EXPECT_GT(account.by_state[TEPHRA_RAN].count, 100u);
}

// Maps without room change where time is told, not how much of it.
TEST_F(OffCpuProgramTest, FullMapsLoseStacksAndNoTime) {
  const Ponging ponging(4, false);
  rest(50);
  for (const uint32_t unkept : {1u << 14, 3u}) {
    Account account;
    OffCpuProgram::Settings settings;
    settings.whom.processes = {ponging.pid()};
    settings.running = settings.split_wakeups = true;
    settings.max_sums = 4;
    settings.max_unkept = unkept;
    const uint64_t elapsed = watch(settings, account, 200);
    EXPECT_NEAR(static_cast<double>(account.all_ns()), 9.0 * static_cast<double>(elapsed),
                0.009 * static_cast<double>(elapsed));
    EXPECT_GT(account.without_stack.ns, 0u);
    // Time that is nobody's is told only where there was no room by thread either.
    EXPECT_EQ(account.by_thread.contains(0), unkept == 3);
  }
}

// With more places than there is room for: a process of many threads that each give up their CPU so and so often is
// told with every one of these waits, and with all their time, where sums of only 256 are kept apart.
TEST_F(OffCpuProgramTest, MoreThreadsThanSums) {
  constexpr uint64_t kThreads = 400;
  constexpr uint64_t kNaps = 10;
  std::array<int, 2> go{};
  ASSERT_EQ(::pipe(go.data()), 0);
  const pid_t napping = ::fork();
  if (napping == 0) {
    ::close(go[1]);
    char byte = 0;
    if (::read(go[0], &byte, 1) != 1) ::_exit(1);
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([] {
        for (uint64_t nap = 0; nap < kNaps; ++nap) rest(1);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ::_exit(0);
  }
  ::close(go[0]);
  rest(50);
  Account account;
  OffCpuProgram::Settings settings;
  settings.whom.processes = {napping};
  settings.states = 1u << TEPHRA_WAIT_SLEEPING;
  settings.threshold = nanoseconds::max();
  settings.max_sums = 256;
  auto program = OffCpuProgram::load(settings);
  ASSERT_TRUE(program.ok()) << program.error().message();
  ASSERT_TRUE((*program)->begin(account).ok());
  ASSERT_EQ(::write(go[1], "x", 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(napping, &status, 0), napping);
  ASSERT_EQ(status, 0);
  // Nothing was read meanwhile, so the sums of most threads had no room.
  ASSERT_TRUE((*program)->stop(account).ok());
  ::close(go[1]);
  EXPECT_GT(account.without_stack.count, 0u);
  EXPECT_GE(account.by_thread.size(), kThreads);
  // Threads that start at once also wait for locks of their memory, and the first one waits for their end.
  const auto& slept = account.by_state[TEPHRA_WAIT_SLEEPING];
  EXPECT_GE(slept.count, kThreads * kNaps);
  // One began before counting did: that for the word to go.
  EXPECT_EQ(slept.count, (*program)->totals().switches + 1);
  EXPECT_GE(slept.ns, kThreads * kNaps * 1'000'000);
  EXPECT_FALSE(account.by_thread.contains(0));
}

// Threads that wait before and after are told with their stacks, as long as was watched.
TEST_F(OffCpuProgramTest, SeesThoseThatSleepAllAlong) {
  const Ponging asleep(1, true);
  rest(50);
  Account account;
  OffCpuProgram::Settings settings;
  settings.whom.processes = {asleep.pid()};
  const uint64_t elapsed = watch(settings, account, 100);
  ASSERT_EQ(account.by_thread.size(), 3u);
  for (const auto& [tid, ns] : account.by_thread) EXPECT_EQ(ns, elapsed) << tid;
  EXPECT_EQ(account.stacks.size(), 3u);
  EXPECT_EQ(account.flags, std::set<uint32_t>{TEPHRA_WAIT_SINGLE | TEPHRA_WAIT_OPEN_BEGIN | TEPHRA_WAIT_OPEN_END});
}

// What is filtered out is not told at all.
TEST_F(OffCpuProgramTest, KeepsToLimitsAndStates) {
  const Ponging asleep(1, true);
  rest(50);
  Account account;
  OffCpuProgram::Settings settings;
  settings.whom.processes = {asleep.pid()};
  settings.shortest = std::chrono::seconds(3600);
  watch(settings, account, 50);
  EXPECT_EQ(account.all_ns(), 0u);
  settings.shortest = nanoseconds(0);
  settings.states = 1u << TEPHRA_WAIT_UNINTERRUPTIBLE;
  watch(settings, account, 50);
  EXPECT_EQ(account.all_ns(), 0u);
  settings.states = 1u << TEPHRA_WAIT_SLEEPING;
  const uint64_t elapsed = watch(settings, account, 50);
  EXPECT_EQ(account.all_ns(), 3 * elapsed);
}

// A single thread, without those beside it.
TEST_F(OffCpuProgramTest, WatchesASingleThread) {
  const Ponging asleep(1, true);
  rest(50);
  Account account;
  OffCpuProgram::Settings settings;
  settings.whom.threads = {asleep.pid()};
  const uint64_t elapsed = watch(settings, account, 50);
  EXPECT_EQ(account.by_thread, (std::map<uint32_t, uint64_t>{{static_cast<uint32_t>(asleep.pid()), elapsed}}));
}

}  // namespace
}  // namespace tephra::kernel
