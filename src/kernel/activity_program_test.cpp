#include "kernel/activity_program.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <map>
#include <set>
#include <thread>
#include <vector>

namespace tephra::kernel {
namespace {

// Adds up what it hears.
class Account : public ActivityProgram::Listener {
 public:
  std::map<uint32_t, tephra_activity_sum> by_detail;
  std::map<uint32_t, uint64_t> by_thread;
  std::set<uint64_t> stacks;
  uint64_t without_stack = 0;
  uint64_t unknown_stacks = 0;  // that sums referred to before they came
  uint64_t open = 0;

  void hear(const TakenStack& stack) override { stacks.insert(stack.head.hash); }
  void hear(const tephra_walk_wanted&) override {}
  void hear(const tephra_activity_key& key, const tephra_activity_sum& sum) override {
    tephra_activity_sum& mine = by_detail[key.detail];
    mine.count += sum.count;
    mine.ns += sum.ns;
    by_thread[key.tid] += sum.count;
    unknown_stacks += key.stack != 0 && !stacks.contains(key.stack);
    if (key.flags & TEPHRA_ACTIVITY_NO_STACK) without_stack += sum.count;
    open += (key.flags & TEPHRA_ACTIVITY_OPEN) != 0;
  }

  uint64_t all() const {
    uint64_t count = 0;
    for (const auto& [tid, number] : by_thread) count += number;
    return count;
  }
};

constexpr int kThreads = 6;
constexpr long kCalls = 20'000;

// A process whose threads make a known number of calls once it is told to, and then sleep.
class Calling {
 public:
  Calling() {
    if (::pipe(start_) != 0 || ::pipe(done_) != 0) ::abort();
    pid_ = ::fork();
    if (pid_ == 0) work();
  }
  ~Calling() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    for (const int fd : {start_[0], start_[1], done_[0], done_[1]}) ::close(fd);
  }
  pid_t pid() const { return pid_; }
  // Comes back when all calls were made.
  void go() const {
    char byte = 0;
    for (int i = 0; i < kThreads; ++i) EXPECT_EQ(::write(start_[1], "x", 1), 1);
    for (int i = 0; i < kThreads; ++i) EXPECT_EQ(::read(done_[0], &byte, 1), 1);
  }

 private:
  [[noreturn]] void work() const {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([this] {
        char byte = 0;
        if (::read(start_[0], &byte, 1) != 1) ::_exit(1);
        for (long call = 0; call < kCalls; ++call) ::syscall(SYS_getppid);
        if (::write(done_[1], &byte, 1) != 1) ::_exit(1);
        ::pause();
      });
    }
    for (std::thread& thread : threads) thread.join();
    ::_exit(0);
  }

  int start_[2]{};
  int done_[2]{};
  pid_t pid_ = 0;
};

void rest(long ms) {
  const timespec time{0, ms * 1'000'000};
  ::nanosleep(&time, nullptr);
}

class ActivityProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    auto trial = ActivityProgram::load({});
    if (!trial.ok()) GTEST_SKIP() << trial.error().message();
  }

  static void count(const ActivityProgram::Settings& settings, const Calling& calling, Account& account) {
    auto program = ActivityProgram::load(settings);
    ASSERT_TRUE(program.ok()) << program.error().message();
    (*program)->begin();
    std::thread reader([&] {
      for (int i = 0; i < 5; ++i) {
        rest(2);
        EXPECT_TRUE((*program)->read_all(account).ok());
      }
    });
    calling.go();
    reader.join();
    rest(20);
    EXPECT_TRUE((*program)->stop(account).ok());
  }
};

// However often sums are read meanwhile.
TEST_F(ActivityProgramTest, CountsEverySystemCall) {
  const Calling calling;
  rest(50);
  Account account;
  ActivityProgram::Settings settings;
  settings.whom.processes = {calling.pid()};
  count(settings, calling, account);
  EXPECT_EQ(account.by_detail[SYS_getppid].count, static_cast<uint64_t>(kThreads * kCalls));
  EXPECT_EQ(account.by_detail[SYS_write].count, static_cast<uint64_t>(kThreads));
  EXPECT_EQ(account.without_stack, 0u);
  EXPECT_EQ(account.unknown_stacks, 0u);
  // Their time is told although they do not end.
  EXPECT_EQ(account.open, static_cast<uint64_t>(kThreads));
  EXPECT_GT(account.by_detail[SYS_pause].ns, static_cast<uint64_t>(kThreads) * 10'000'000);
}

// Maps without room change where calls are told, not how many.
TEST_F(ActivityProgramTest, FullMapsLoseStacksAndNoCalls) {
  for (const uint32_t unkept : {1u << 12, 2u}) {
    const Calling calling;
    rest(50);
    Account account;
    ActivityProgram::Settings settings;
    settings.whom.processes = {calling.pid()};
    settings.max_sums = 2;
    settings.max_unkept = unkept;
    count(settings, calling, account);
    // Beside them a read that was waited in, which is not counted, a write and a pause.
    EXPECT_EQ(account.all(), static_cast<uint64_t>(kThreads * (kCalls + 2)));
    EXPECT_GT(account.without_stack, 0u);
    EXPECT_EQ(account.by_thread.contains(0), unkept == 2);
  }
}

// A single thread, without those beside it; nothing before it begins.
TEST_F(ActivityProgramTest, WatchesASingleThread) {
  const Calling calling;
  rest(50);
  Account account;
  ActivityProgram::Settings settings;
  settings.whom.threads = {calling.pid()};
  count(settings, calling, account);
  EXPECT_EQ(account.all(), 0u);  // the first thread waits for the others
}

}  // namespace
}  // namespace tephra::kernel
