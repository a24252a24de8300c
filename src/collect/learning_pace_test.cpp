#include "collect/learning_pace.h"

#include <gtest/gtest.h>

namespace tephra::collect {
namespace {

using namespace std::chrono_literals;
using Clock = LearningPace::Clock;

constexpr Clock::time_point kNow{1000s};

TEST(LearningPace, WhatTookLongIsDoneLessOften) {
  LearningPace pace;
  EXPECT_LT(pace.not_before(7), kNow);
  pace.learnt(7, 40ms, kNow);
  EXPECT_EQ(pace.not_before(7), kNow + 760ms);
  EXPECT_LT(pace.not_before(8), kNow);
  pace.learnt(7, 20ms, kNow + 1s);
  EXPECT_EQ(pace.not_before(7), kNow + 1s + 380ms);
}

TEST(LearningPace, WhatTookShortIsDoneAtOnce) {
  LearningPace pace;
  pace.learnt(7, 40ms, kNow);
  pace.learnt(7, 300us, kNow);
  EXPECT_LT(pace.not_before(7), kNow);
}

TEST(LearningPace, NothingWaitsForEver) {
  LearningPace pace;
  pace.learnt(7, 1h, kNow);
  EXPECT_EQ(pace.not_before(7), kNow + 10s);
  pace.forget(7);
  EXPECT_LT(pace.not_before(7), kNow);
}

}  // namespace
}  // namespace tephra::collect
