#include "stream/time_account.h"

#include <gtest/gtest.h>

namespace tephra::stream {
namespace {

constexpr uint64_t kMs = 1'000'000;

class TimeAccountTest : public testing::Test {
 protected:
  void time(int32_t tid, uint64_t ns, uint64_t at) {
    Sample sample;
    sample.origin.tid = tid;
    sample.origin.time = at;
    sample.period = ns;
    account_.add_time(sample);
  }
  void recorded(uint64_t from, uint64_t until) {
    time(1, 0, from);
    time(1, 0, until);
  }
  void there(int32_t tid) {
    Comm comm;
    comm.tid = tid;
    account_.add_event(comm);
  }
  void born(int32_t tid, uint64_t at) {
    Fork fork;
    fork.tid = tid;
    fork.origin.time = at;
    account_.add_event(fork);
  }
  void ended(int32_t tid, uint64_t at) {
    Exit exit;
    exit.tid = tid;
    exit.origin.time = at;
    account_.add_event(exit);
  }

  TimeAccount account_;
};

TEST_F(TimeAccountTest, AThreadThatWasThereAllAlong) {
  recorded(1000 * kMs, 2000 * kMs);
  there(7);
  time(7, 400 * kMs, 1500 * kMs);
  time(7, 599 * kMs, 2000 * kMs);
  const auto account = account_.finish();
  ASSERT_TRUE(account);
  EXPECT_EQ(account->threads, 1u);
  EXPECT_EQ(account->off, 0u);
  EXPECT_NEAR(account->worst, 0.001, 1e-9);
}

TEST_F(TimeAccountTest, TellsWhatIsMissingAndWhatIsTooMuch) {
  recorded(1000 * kMs, 2000 * kMs);
  there(7);
  time(7, 900 * kMs, 2000 * kMs);
  there(8);
  time(8, 1050 * kMs, 2000 * kMs);
  const auto account = account_.finish();
  EXPECT_EQ(account->off, 2u);
  EXPECT_EQ(account->worst_tid, 7);
  EXPECT_EQ(account->worst_told_ns, 900 * kMs);
  EXPECT_EQ(account->worst_life_ns, 1000 * kMs);
}

TEST_F(TimeAccountTest, ThreadsThatBeginAndEnd) {
  recorded(1000 * kMs, 2000 * kMs);
  born(7, 1100 * kMs);
  ended(7, 1300 * kMs);
  time(7, 200 * kMs, 1300 * kMs);
  born(8, 1900 * kMs);
  time(8, 100 * kMs, 2000 * kMs);
  born(9, 1100 * kMs);
  ended(9, 1300 * kMs);
  time(9, 100 * kMs, 1300 * kMs);
  const auto account = account_.finish();
  EXPECT_EQ(account->threads, 3u);
  EXPECT_EQ(account->off, 1u);
  EXPECT_EQ(account->worst_tid, 9);
}

TEST_F(TimeAccountTest, ANumberThatIsUsedAgain) {
  recorded(1000 * kMs, 2000 * kMs);
  there(7);
  ended(7, 1200 * kMs);
  born(7, 1500 * kMs);
  ended(7, 1600 * kMs);
  time(7, 200 * kMs, 1200 * kMs);
  time(7, 100 * kMs, 1600 * kMs);
  const auto account = account_.finish();
  EXPECT_EQ(account->threads, 1u);
  EXPECT_EQ(account->off, 0u);
}

TEST_F(TimeAccountTest, ShortLivesMayBeOffByWhatMakingAThreadTakes) {
  recorded(1000 * kMs, 2000 * kMs);
  born(7, 1100 * kMs);
  ended(7, 1101 * kMs);
  time(7, kMs + kMs / 4, 1101 * kMs);
  EXPECT_EQ(account_.finish()->off, 0u);
}

TEST_F(TimeAccountTest, WithoutKnowledgeItSaysNothing) {
  there(7);
  time(7, 5, 2000);
  EXPECT_FALSE(account_.finish());
  recorded(1000, 2000);
  time(9, 5, 2000);  // nobody says since when it is there
  EXPECT_EQ(account_.finish()->not_told, 1u);
}

}  // namespace
}  // namespace tephra::stream
