#include "kernel/near_match.h"

#include <gtest/gtest.h>

namespace tephra::kernel {
namespace {

const std::vector<std::string> kNames{"cpu-clock", "task-clock", "cycles", "sched_switch", "sched_wakeup", "faults"};

TEST(NearMatch, OffersTypingErrorsAndPartsOfNames) {
  EXPECT_EQ(near_matches("cpu-clok", kNames), std::vector<std::string>{"cpu-clock"});
  EXPECT_EQ(near_matches("cycels", kNames), std::vector<std::string>{"cycles"});
  EXPECT_EQ(near_matches("switch", kNames), std::vector<std::string>{"sched_switch"});
  EXPECT_EQ(near_matches("sched", kNames), (std::vector<std::string>{"sched_switch", "sched_wakeup"}));
  EXPECT_EQ(near_matches("clock", kNames, 1).size(), 1u);
}

TEST(NearMatch, OffersNothingForWhatIsFarAway) {
  EXPECT_TRUE(near_matches("bandwidth", kNames).empty());
  EXPECT_TRUE(near_matches("", kNames).empty());
  EXPECT_TRUE(near_matches(std::string(1000, 'x'), kNames).empty());
}

TEST(NearMatch, AsksAQuestion) {
  EXPECT_EQ(did_you_mean({}), "");
  EXPECT_EQ(did_you_mean({"a"}), "Did you mean a?");
  EXPECT_EQ(did_you_mean({"a", "b", "c"}), "Did you mean a, b or c?");
}

}  // namespace
}  // namespace tephra::kernel
