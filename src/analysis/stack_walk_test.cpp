#include "analysis/stack_walk.h"

#include <gtest/gtest.h>

#include <random>

namespace tephra::analysis {
namespace {

using model::Profile;
using model::StackId;

// A tree of stacks. In order: every row's caller is the row before it, or one of its callers.
Profile random_tree(std::mt19937& random, uint32_t rows, uint32_t frames, bool in_order) {
  Profile profile;
  profile.stacks.add({});
  for (uint32_t i = 1; i < rows; ++i) {
    StackId parent{in_order ? i - 1 : static_cast<uint32_t>(random() % i)};
    while (in_order && parent && random() % 3 == 0) parent = profile.stacks[parent].parent;
    profile.stacks.add({parent, model::FrameId{static_cast<uint32_t>(1 + random() % frames)}});
  }
  return profile;
}

std::vector<uint32_t> keys(std::mt19937& random, uint32_t frames, uint32_t count) {
  std::vector<uint32_t> keys(frames + 1);
  for (uint32_t& key : keys) key = static_cast<uint32_t>(random() % count);
  return keys;
}

TEST(StackWalkTest, RowsInOrderNeedNoChildren) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    const Profile profile = random_tree(random, 200, 12, true);
    const auto key_of_frame = keys(random, 12, 5);
    const auto quick = outermost_rows_in_order(profile, key_of_frame, 5);
    ASSERT_TRUE(quick.has_value());
    EXPECT_EQ(*quick, outermost_rows(profile, StackChildren(profile), key_of_frame, 5));
  }
}

TEST(StackWalkTest, RowsOutOfOrderAreNoticed) {
  Profile profile;
  profile.stacks.add({});
  profile.stacks.add({StackId{0}, model::FrameId{1}});
  profile.stacks.add({StackId{0}, model::FrameId{2}});
  profile.stacks.add({StackId{1}, model::FrameId{2}});  // below a row that is over
  const std::vector<uint32_t> key_of_frame{0, 1, 2};
  EXPECT_EQ(outermost_rows_in_order(profile, key_of_frame, 3), std::nullopt);
  // Whatever order there is: the answer is the same, or there is none.
  std::mt19937 random(2);
  for (int round = 0; round < 50; ++round) {
    const Profile other = random_tree(random, 20, 4, false);
    const auto other_keys = keys(random, 4, 3);
    const auto quick = outermost_rows_in_order(other, other_keys, 3);
    if (!quick) continue;
    EXPECT_EQ(*quick, outermost_rows(other, StackChildren(other), other_keys, 3));
  }
}

}  // namespace
}  // namespace tephra::analysis
