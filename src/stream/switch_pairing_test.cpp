#include "stream/switch_pairing.h"

#include <gtest/gtest.h>

namespace tephra::stream {
namespace {

constexpr uint32_t kSleeps = 1;
constexpr uint32_t kBlocked = 2;
constexpr uint32_t kEnds = 0x10;
constexpr uint32_t kReady = 0;

// Steps in the order they are given, each at a position of its own.
class Steps {
 public:
  Steps& from_to(uint64_t time, int32_t tid, uint32_t state, int32_t next, int32_t cpu = 0) {
    return add({.time = time, .tid = tid, .next = next, .seen_tid = tid, .cpu = cpu, .state = state});
  }
  Steps& wake(uint64_t time, int32_t tid) { return add({.time = time, .tid = tid, .kind = SwitchStep::Kind::kWake}); }
  Steps& runs(uint64_t time, int32_t seen_tid) {
    return add({.time = time, .seen_tid = seen_tid, .kind = SwitchStep::Kind::kRuns});
  }
  PairedSwitches pair(uint64_t end, std::vector<LostSpan> lost = {}) const { return pair_switches(steps_, lost, end); }

 private:
  Steps& add(SwitchStep step) {
    step.position = steps_.size();
    steps_.push_back(step);
    return *this;
  }
  std::vector<SwitchStep> steps_;
};

struct Wait {
  uint64_t position;
  uint64_t waited;
  uint64_t queued;
  uint32_t state;
  bool operator==(const Wait&) const = default;
};

std::vector<Wait> waits_of(const PairedSwitches& paired) {
  std::vector<Wait> waits;
  for (const PairedWait& wait : paired.waits) waits.push_back({wait.position, wait.waited, wait.queued, wait.state});
  return waits;
}

TEST(SwitchPairingTest, FromTheSwitchAwayToTheSwitchBack) {
  const auto paired =
      Steps().from_to(100, 7, kSleeps, 0).from_to(350, 0, kReady, 7).from_to(400, 7, kEnds, 0).pair(1000);
  EXPECT_EQ(waits_of(paired), (std::vector<Wait>{{0, 250, 0, TEPHRA_WAIT_SLEEPING}}));
  EXPECT_EQ(paired.open, 0u);
  EXPECT_EQ(paired.unended, 0u);
}

TEST(SwitchPairingTest, StatesAreKeptApart) {
  const auto paired = Steps()
                          .from_to(100, 7, kBlocked, 8)
                          .from_to(110, 8, kReady, 7)
                          .from_to(130, 7, 4, 8)
                          .from_to(170, 8, 0x100, 7)
                          .from_to(200, 7, kEnds, 8)
                          .pair(200);
  EXPECT_EQ(waits_of(paired), (std::vector<Wait>{{0, 10, 0, TEPHRA_WAIT_UNINTERRUPTIBLE},
                                                 {1, 20, 0, TEPHRA_WAIT_RUN_QUEUE},
                                                 {2, 40, 0, TEPHRA_WAIT_OTHER},
                                                 {3, 30, 0, TEPHRA_WAIT_RUN_QUEUE}}));
}

TEST(SwitchPairingTest, TheOrderOfTheFileDoesNotMatter) {
  const auto paired = Steps().from_to(350, 0, kReady, 7, 1).from_to(100, 7, kSleeps, 0, 0).pair(1000);
  EXPECT_EQ(waits_of(paired), (std::vector<Wait>{{1, 250, 0, TEPHRA_WAIT_SLEEPING}}));
}

TEST(SwitchPairingTest, WhoWasWokenQueuesFromThenOn) {
  const auto paired = Steps()
                          .from_to(100, 7, kSleeps, 0)
                          .wake(300, 7)
                          .wake(320, 7)
                          .from_to(350, 0, kReady, 7)
                          .from_to(400, 7, kReady, 8)
                          .wake(410, 7)
                          .from_to(450, 8, kEnds, 7)
                          .pair(1000);
  EXPECT_EQ(waits_of(paired),
            (std::vector<Wait>{{0, 200, 50, TEPHRA_WAIT_SLEEPING}, {4, 50, 0, TEPHRA_WAIT_RUN_QUEUE}}));
}

TEST(SwitchPairingTest, WhatIsNotOverCountsUpToTheEnd) {
  const auto paired = Steps().from_to(50, 0, kReady, 7).from_to(100, 7, kSleeps, 0).pair(1000);
  EXPECT_EQ(waits_of(paired), (std::vector<Wait>{{1, 900, 0, TEPHRA_WAIT_SLEEPING}}));
  EXPECT_EQ(paired.open, 1u);
  EXPECT_EQ(paired.open_time, 900u);
}

TEST(SwitchPairingTest, OfOneProcessAloneTheEndIsNotKnown) {
  // Another process ran in between: only switches away are recorded.
  const auto paired = Steps().from_to(100, 7, kSleeps, 99).from_to(500, 7, kSleeps, 99).pair(1000);
  EXPECT_TRUE(paired.waits.empty());
  EXPECT_EQ(paired.unended, 2u);
  EXPECT_EQ(paired.open, 0u);
}

TEST(SwitchPairingTest, ABusyMachineIsKnownByItsSwitchesFollowingOneAnother) {
  Steps busy;
  for (uint64_t time = 100; time < 200; time += 2) busy.from_to(time, 7, kReady, 8).from_to(time + 1, 8, kReady, 7);
  busy.from_to(200, 7, kSleeps, 8);
  EXPECT_EQ(busy.pair(1000).open, 1u);
  // Others have the CPU in between, and never give it up: they are not recorded.
  for (int32_t other = 50; other < 60; ++other) busy.from_to(300, 8, kReady, other);
  const auto paired = busy.pair(1000);
  EXPECT_EQ(paired.open, 0u);
  EXPECT_GT(paired.unended, 0u);
}

TEST(SwitchPairingTest, RecordsOfRunningTellTheEnd) {
  const auto paired =
      Steps().from_to(100, 7, kSleeps, 99).runs(180, 7).from_to(500, 7, kSleeps, 99).runs(555, 8).pair(1000);
  EXPECT_EQ(waits_of(paired), (std::vector<Wait>{{0, 80, 0, TEPHRA_WAIT_SLEEPING}, {2, 500, 0, TEPHRA_WAIT_SLEEPING}}));
  EXPECT_EQ(paired.open, 1u);
}

TEST(SwitchPairingTest, ThreadsOfContainersAreKnownByTheirNumberThere) {
  std::vector<SwitchStep> steps{
      {.time = 100, .position = 0, .tid = 1007, .next = 99, .seen_tid = 7, .cpu = 0, .state = kSleeps},
      {.time = 140, .position = 1, .seen_tid = 7, .kind = SwitchStep::Kind::kRuns},
  };
  EXPECT_EQ(waits_of(pair_switches(steps, {}, 200)), (std::vector<Wait>{{0, 40, 0, TEPHRA_WAIT_SLEEPING}}));
}

TEST(SwitchPairingTest, AWakeupTellsAtLeastTheSleep) {
  const auto paired =
      Steps().from_to(100, 7, kSleeps, 99).wake(130, 7).from_to(500, 7, kSleeps, 99).wake(600, 7).pair(1000);
  EXPECT_EQ(waits_of(paired), (std::vector<Wait>{{0, 30, 0, TEPHRA_WAIT_SLEEPING}, {2, 100, 0, TEPHRA_WAIT_SLEEPING}}));
  EXPECT_EQ(paired.half_told, 2u);
  EXPECT_EQ(paired.unended, 0u);
}

TEST(SwitchPairingTest, NothingIsInventedWhereRecordsWereLost) {
  const Steps steps = Steps()
                          .from_to(100, 7, kSleeps, 0)
                          .from_to(300, 0, kReady, 7)  // before the loss
                          .from_to(400, 7, kSleeps, 0)
                          .from_to(900, 0, kReady, 7)  // it may have run within
                          .from_to(1000, 7, kSleeps, 0)
                          .from_to(1100, 0, kReady, 7);
  const auto paired = steps.pair(2000, {{500, 600}, {550, 700}});
  EXPECT_EQ(waits_of(paired),
            (std::vector<Wait>{{0, 200, 0, TEPHRA_WAIT_SLEEPING}, {4, 100, 0, TEPHRA_WAIT_SLEEPING}}));
  EXPECT_EQ(paired.across_loss, 1u);
  EXPECT_EQ(paired.across_loss_time, 500u);
  // What touches the loss may be wrong as well.
  EXPECT_EQ(steps.pair(2000, {{300, 300}}).across_loss, 1u);
  EXPECT_EQ(steps.pair(2000, {{0, UINT64_MAX}}).waits.size(), 0u);
}

TEST(SwitchPairingTest, ClocksOfCpusMayDiffer) {
  // The thread moves from CPU 0 to CPU 1, whose clock is behind: it seems to arrive before it left.
  const auto paired = Steps()
                          .from_to(100, 0, kReady, 7, 0)
                          .from_to(490, 0, kReady, 7, 1)
                          .from_to(500, 7, kReady, 0, 0)
                          .from_to(5000, 7, kSleeps, 0, 1)
                          .from_to(6000, 0, kReady, 7, 1)
                          .pair(7000);
  EXPECT_EQ(waits_of(paired),
            (std::vector<Wait>{{2, 0, 0, TEPHRA_WAIT_RUN_QUEUE}, {3, 1000, 0, TEPHRA_WAIT_SLEEPING}}));
}

TEST(SwitchPairingTest, TheIdleTaskAndEndedThreadsDoNotWait) {
  const auto paired =
      Steps().from_to(100, 0, kReady, 7).from_to(200, 7, kEnds, 0).from_to(300, 0, kReady, 7).pair(1000);
  EXPECT_TRUE(paired.waits.empty());
  EXPECT_EQ(paired.unended, 0u);
}

TEST(SwitchPairingTest, StatesOfAllKernels) {
  EXPECT_EQ(wait_state_of(0), TEPHRA_WAIT_RUN_QUEUE);
  EXPECT_EQ(wait_state_of(0x100), TEPHRA_WAIT_RUN_QUEUE);
  EXPECT_EQ(wait_state_of(0x800), TEPHRA_WAIT_RUN_QUEUE);       // 4.4: preempted
  EXPECT_EQ(wait_state_of(0x82), TEPHRA_WAIT_UNINTERRUPTIBLE);  // 4.4: killable
  EXPECT_EQ(wait_state_of(0x80), TEPHRA_WAIT_SLEEPING);
  EXPECT_EQ(wait_state_of(0x40), TEPHRA_WAIT_OTHER);
  EXPECT_EQ(wait_state_of(0x20), TEPHRA_WAIT_STATES);
}

}  // namespace
}  // namespace tephra::stream
