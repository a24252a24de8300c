#include <gtest/gtest.h>

#include "analysis/profile_for_tests.h"
#include "analysis/wait_kind.h"
#include "views/flame_svg.h"

namespace tephra::views {
namespace {

using analysis::WaitKind;

model::Profile waits() {
  return analysis::TestProfile("offcpu-time")
      .add("main;take;futex_wait@[kernel]", 1, 900)
      .add("main;nap;do_nanosleep@[kernel]", 1, 100)
      .finish();
}

std::string draw(const model::Profile& profile, bool by_wait) {
  FlameSvgOptions looks;
  looks.weight = analysis::Weight::kValue;
  const auto tree = analysis::call_tree(profile, {.keep_leaves = true});
  if (by_wait) looks.waits = analysis::kinds_of_nodes(tree, profile, analysis::wait_kinds(profile), looks.weight);
  return flame_svg(profile, tree, analysis::judge(profile), looks);
}

TEST(FlameWaitsTest, ColoursAndLegendTellWhatIsWaitedFor) {
  const std::string svg = draw(waits(), true);
  EXPECT_NE(svg.find("waiting for a lock"), std::string::npos);
  EXPECT_NE(svg.find("sleeping"), std::string::npos);
  EXPECT_EQ(svg.find("waiting for a disk"), std::string::npos);
  EXPECT_NE(svg.find(frame_color(wait_tone(WaitKind::kLock), "take")), std::string::npos);
  EXPECT_NE(svg.find(frame_color(wait_tone(WaitKind::kSleep), "nap")), std::string::npos);
  EXPECT_NE(svg.find("waits mostly: lock"), std::string::npos);
}

TEST(FlameWaitsTest, WithoutKindsThePaletteDecides) {
  const std::string svg = draw(waits(), false);
  EXPECT_EQ(svg.find("waiting for a lock"), std::string::npos);
  EXPECT_EQ(svg.find("waits mostly"), std::string::npos);
}

TEST(FlameWaitsTest, KindsHaveColoursOfTheirOwn) {
  for (size_t i = 0; i < analysis::kWaitKinds; ++i) {
    for (size_t j = 0; j < i; ++j) {
      const Tone& one = wait_tone(static_cast<WaitKind>(i));
      const Tone& other = wait_tone(static_cast<WaitKind>(j));
      EXPECT_NE(tone_color(one), tone_color(other));
      EXPECT_NE(one.meaning, other.meaning);
    }
  }
}

}  // namespace
}  // namespace tephra::views
