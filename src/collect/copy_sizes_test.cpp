#include "collect/copy_sizes.h"

#include <gtest/gtest.h>

#include "collect/event_attr.h"

namespace tephra::collect {
namespace {

constexpr uint64_t kKib = 1024;
const CopySizes::Limits kPlenty{uint64_t{1} << 40, uint64_t{1} << 40, 1'000'000};

// Sizes with a clock of their own.
class Sizes {
 public:
  explicit Sizes(uint32_t first) : sizes_(first) { sizes_.decide(now_, kPlenty); }

  // Stacks that reach so far up, copied with the size in use.
  Sizes& stacks(uint64_t count, uint64_t needed) {
    const uint64_t room = sizes_.bytes();
    for (uint64_t i = 0; i < count; ++i) sizes_.saw({room, std::min(room, needed), needed});
    return *this;
  }
  // The same where nobody knows how far they reach.
  Sizes& unknown(uint64_t count, uint64_t filled) {
    for (uint64_t i = 0; i < count; ++i) sizes_.saw({sizes_.bytes(), filled, {}});
    return *this;
  }
  std::optional<CopySizes::Decision> after(double seconds, const CopySizes::Limits& limits = kPlenty) {
    now_ += seconds;
    return sizes_.decide(now_, limits);
  }
  void change(uint32_t bytes) {
    sizes_.changed(bytes);
    sizes_.decide(now_, kPlenty);
  }
  CopySizes& operator*() { return sizes_; }

 private:
  CopySizes sizes_;
  double now_ = 1000;
};

TEST(CopySizes, GrowToCoverWhatWasCut) {
  Sizes sizes(16384);
  const auto decision = sizes.stacks(900, 2 * kKib).stacks(100, 30 * kKib).after(1);
  ASSERT_TRUE(decision.has_value());
  EXPECT_FALSE(decision->smaller());
  EXPECT_DOUBLE_EQ(decision->cut, 0.1);
  EXPECT_EQ(decision->samples, 1000u);
  EXPECT_DOUBLE_EQ(decision->rate, 1000);
  EXPECT_GE(decision->bytes, 30 * kKib);
  EXPECT_LE(decision->bytes, 40 * kKib);
  EXPECT_EQ(decision->bytes % 8, 0u);
  EXPECT_EQ(decision->wanted, decision->bytes);
}

TEST(CopySizes, OneInAHundredMayBeCut) {
  Sizes sizes(16384);
  EXPECT_FALSE(sizes.stacks(990, 2 * kKib).stacks(10, 30 * kKib).after(1).has_value());
  EXPECT_TRUE(sizes.stacks(989, 2 * kKib).stacks(11, 30 * kKib).after(1).has_value());
}

TEST(CopySizes, TheDeepestFewAreNotFollowed) {
  Sizes sizes(16384);
  const auto decision = sizes.stacks(950, 2 * kKib).stacks(45, 20 * kKib).stacks(5, 60 * kKib).after(1);
  ASSERT_TRUE(decision.has_value());
  EXPECT_GE(decision->bytes, 20 * kKib);
  EXPECT_LT(decision->bytes, 30 * kKib);
}

TEST(CopySizes, NothingIsDecidedFromLittle) {
  Sizes sizes(16384);
  EXPECT_FALSE(sizes.stacks(99, 30 * kKib).after(10).has_value()) << "few samples";
  EXPECT_FALSE(Sizes(16384).stacks(5000, 30 * kKib).after(0.1).has_value()) << "a short time";
}

TEST(CopySizes, WhatIsDeeperThanARecordIsCutAtTheLargestSize) {
  Sizes sizes(16384);
  const auto decision = sizes.stacks(1000, 5000 * kKib).after(1);
  ASSERT_TRUE(decision.has_value());
  EXPECT_EQ(decision->bytes, kMaxStackBytes);
  sizes.change(kMaxStackBytes);
  EXPECT_FALSE(sizes.stacks(1000, 5000 * kKib).after(1).has_value()) << "there is no larger one";
  EXPECT_EQ((*sizes).used(), (std::vector<model::CopySize>{{16384, 1000, 1000}, {kMaxStackBytes, 1000, 1000}}));
}

TEST(CopySizes, StacksOfUnknownEndAreCutWhereTheyFillTheCopy) {
  EXPECT_FALSE(Sizes(16384).unknown(1000, 16 * kKib - 8).after(1).has_value());
  const auto decision = Sizes(16384).unknown(1000, 16 * kKib).after(1);
  ASSERT_TRUE(decision.has_value());
  EXPECT_GE(decision->bytes, 32 * kKib);
}

TEST(CopySizes, MoreRoomDoesNotHelpWhatCannotBeRead) {
  Sizes sizes(16384);
  for (int i = 0; i < 1000; ++i) (*sizes).saw({16384, 4096, 60 * kKib});
  EXPECT_FALSE(sizes.after(1).has_value());
  EXPECT_EQ((*sizes).used()[0].cut, 0u);
}

TEST(CopySizes, SamplesWithoutACopyAreNoStacks) {
  Sizes sizes(16384);
  for (int i = 0; i < 1000; ++i) (*sizes).saw({0, 0, {}});
  EXPECT_FALSE(sizes.after(1).has_value());
  EXPECT_EQ((*sizes).used()[0].samples, 0u);
}

TEST(CopySizes, GrowNoFurtherThanCanBePaid) {
  Sizes sizes(8192);
  // 4,000 a second: 16 KiB are 64 MiB.
  const auto decision = sizes.stacks(4000, 60 * kKib).after(1, {64 << 20, 64 << 20, 4000});
  ASSERT_TRUE(decision.has_value());
  EXPECT_NEAR(decision->bytes, 16777, 8);
  EXPECT_EQ(decision->bytes % 8, 0u);
  EXPECT_GT(decision->wanted, 60 * kKib);
}

TEST(CopySizes, StayWhereMoreCannotBePaid) {
  Sizes sizes(8192);
  const CopySizes::Limits little{32 << 20, 64 << 20, 4000};
  const auto decision = sizes.stacks(4000, 60 * kKib).after(1, little);
  ASSERT_TRUE(decision.has_value());
  EXPECT_EQ(decision->bytes, 8192u);
  EXPECT_GT(decision->wanted, 60 * kKib);
  // At a lower rate they can.
  const auto later = sizes.stacks(400, 60 * kKib).after(1, little);
  ASSERT_TRUE(later.has_value());
  EXPECT_EQ(later->bytes, later->wanted);
}

TEST(CopySizes, WhileNothingRunsNoTimePasses) {
  Sizes sizes(16384);
  EXPECT_FALSE(sizes.after(100).has_value());
  const auto decision = sizes.stacks(1000, 30 * kKib).after(1);
  ASSERT_TRUE(decision.has_value());
  EXPECT_DOUBLE_EQ(decision->rate, 1000);
}

TEST(CopySizes, ARingMustHoldSomeCopies) {
  const auto small = Sizes(8192).stacks(4000, 60 * kKib).after(1, {uint64_t{1} << 40, 512 << 10, 4000});
  ASSERT_TRUE(small.has_value());
  EXPECT_EQ(small->bytes, 8192u);
  // Samples of many CPUs do not share a ring.
  const auto shared = Sizes(8192).stacks(4000, 60 * kKib).after(1, {uint64_t{1} << 40, 512 << 10, 100});
  ASSERT_TRUE(shared.has_value());
  EXPECT_EQ(shared->bytes, shared->wanted);
}

TEST(CopySizes, ShrinkWhereMostIsNeverUsed) {
  Sizes sizes(16384);
  EXPECT_FALSE(sizes.stacks(2000, 1500).after(2).has_value()) << "it has only begun";
  const auto decision = sizes.stacks(2000, 1500).after(4);
  ASSERT_TRUE(decision.has_value());
  EXPECT_TRUE(decision->smaller());
  EXPECT_EQ(decision->bytes, 4096u);
  sizes.change(4096);
  EXPECT_FALSE(sizes.stacks(9000, 100).after(20).has_value()) << "once is enough";
}

TEST(CopySizes, DoNotShrinkForAQuarterOrMore) {
  Sizes sizes(16384);
  EXPECT_FALSE(sizes.stacks(2000, 5 * kKib).after(20).has_value());
  EXPECT_FALSE(Sizes(16384).stacks(997, 500).stacks(5, 5 * kKib).after(20).has_value()) << "some are deeper";
}

TEST(CopySizes, DoNotShrinkWhatHadBeenTooSmall) {
  Sizes sizes(16384);
  ASSERT_TRUE(sizes.stacks(200, 30 * kKib).after(1).has_value());
  sizes.change(36864);
  EXPECT_FALSE(sizes.stacks(9000, 500).after(60).has_value());
}

TEST(CopySizes, GrowAgainAfterTheyHadShrunk) {
  Sizes sizes(16384);
  ASSERT_TRUE(sizes.stacks(2000, 500).after(6).has_value());
  sizes.change(4096);
  const auto decision = sizes.stacks(500, 9 * kKib).after(1);
  ASSERT_TRUE(decision.has_value());
  EXPECT_GE(decision->bytes, 9 * kKib);
}

TEST(CopySizes, SettleAfterAFewChanges) {
  Sizes sizes(4096);
  int changes = 0;
  // Ever a little deeper.
  for (int round = 0; round < 100; ++round) {
    const auto decision = sizes.stacks(500, (*sizes).bytes() + 8).after(1);
    if (!decision) continue;
    EXPECT_GE(decision->bytes, (*sizes).bytes() * 5 / 4);
    sizes.change(decision->bytes);
    ++changes;
  }
  EXPECT_EQ(changes, 4);
  EXPECT_TRUE((*sizes).settled());
}

TEST(CopySizes, WhatIsKeptIsNotDecidedAgain) {
  Sizes sizes(16384);
  ASSERT_TRUE(sizes.stacks(200, 30 * kKib).after(1).has_value());
  (*sizes).keep();
  EXPECT_FALSE(sizes.stacks(200, 30 * kKib).after(1).has_value());
}

TEST(CopySizes, SamplesOnTheirWayCountForTheOldSize) {
  Sizes sizes(16384);
  ASSERT_TRUE(sizes.stacks(200, 30 * kKib).after(1).has_value());
  sizes.change(36864);
  for (int i = 0; i < 500; ++i) (*sizes).saw({16384, 16384, 30 * kKib});
  EXPECT_FALSE(sizes.after(1).has_value());
  sizes.stacks(7, 30 * kKib);
  EXPECT_EQ((*sizes).used(), (std::vector<model::CopySize>{{16384, 700, 700}, {36864, 7, 0}}));
}

TEST(CopySizes, ALargeCopyMayBeSmallerThanAskedFor) {
  Sizes sizes(kMaxStackBytes);
  (*sizes).saw({65000, 65000, 100 * kKib});
  EXPECT_EQ((*sizes).used(), (std::vector<model::CopySize>{{kMaxStackBytes, 1, 1}}));
}

}  // namespace
}  // namespace tephra::collect
