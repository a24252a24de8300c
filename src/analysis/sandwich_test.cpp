#include "analysis/sandwich.h"

#include <gtest/gtest.h>

#include "analysis/call_tree_for_tests.h"
#include "analysis/profile_for_tests.h"

namespace tephra::analysis {
namespace {

using Lines = std::vector<std::string>;

TEST(Sandwich, JoinsAllPlacesOfAFunction) {
  TestProfile made;
  made.add("main;a;alloc;grow", 3, 30).add("main;b;alloc", 2, 20).add("main;b", 5, 50).add("main;b;alloc;grow", 1, 10);
  const auto tree = call_tree(made.finish());
  const Sandwich both = sandwich(tree, "alloc");
  EXPECT_EQ(outline(both.callees), (Lines{"alloc 2/6", " grow 4/4"}));
  EXPECT_EQ(outline(both.callers),
            (Lines{"alloc 0/6", " a 0/3", "  main 0/3", "   prog 3/3", " b 0/3", "  main 0/3", "   prog 3/3"}));
}

TEST(Sandwich, CountsRecursionOnceFromTheOutermostOn) {
  TestProfile made;
  made.add("main;walk;visit;walk;visit;walk", 4, 4).add("main;walk", 1, 1);
  const Sandwich both = sandwich(call_tree(made.finish()), "walk");
  EXPECT_EQ(both.callees.root().total.count, 5u);
  EXPECT_EQ(both.callers.root().total.count, 5u);
  EXPECT_EQ(outline(both.callees), (Lines{"walk 1/5", " visit 0/4", "  walk 0/4", "   visit 0/4", "    walk 4/4"}));
  EXPECT_EQ(outline(both.callers), (Lines{"walk 0/5", " main 0/5", "  prog 5/5"}));
}

TEST(Sandwich, ThreadsAreNoFunctions) {
  TestProfile made;
  made.add("main;prog", 1, 1);
  EXPECT_EQ(outline(sandwich(call_tree(made.finish()), "prog").callers),
            (Lines{"prog 0/1", " main 0/1", "  prog 1/1"}));
}

TEST(Sandwich, WithoutTheFunctionThereIsNoWeight) {
  TestProfile made;
  made.add("main;a", 1, 1);
  const auto tree = call_tree(made.finish());
  const Sandwich none = sandwich(tree, "b");
  EXPECT_EQ(none.callees.root().total.count, 0u);
  EXPECT_EQ(none.callers.root().total.count, 0u);
  EXPECT_EQ(sandwich_layout(none, Weight::kSamples).rects.size(), 1u);
  EXPECT_EQ(function_names(tree), (std::vector<std::string>{"a", "main"}));
}

TEST(Sandwich, LayoutPutsCallersOnTheOtherSide) {
  TestProfile made;
  made.add("main;a;alloc;grow", 3, 30).add("main;b;alloc", 2, 20);
  const Sandwich both = sandwich(call_tree(made.finish()), "alloc");
  const FlameLayout layout = sandwich_layout(both, Weight::kSamples);
  EXPECT_EQ(layout.total, 5u);
  EXPECT_EQ(layout.rows, (std::vector<FlameRow>{{0, 0, 1}, {0, 1, 2}, {0, -1, 0}, {2, -2, 0}, {3, -3, 0}}));
  const auto callees = static_cast<uint32_t>(both.callees.nodes.size());
  ASSERT_EQ(layout.rects.size(), 8u);
  EXPECT_EQ(layout.rects[0], (FlameRect{0, 5, 0, 0}));
  EXPECT_EQ(layout.rects[1], (FlameRect{2, 3, 1, 1}));
  EXPECT_EQ(layout.rects[2], (FlameRect{0, 3, 2, callees + 1}));
  EXPECT_EQ(layout.rects[5], (FlameRect{3, 2, 2, callees + 4}));
}

}  // namespace
}  // namespace tephra::analysis
