#include "analysis/event_pair.h"

#include <gtest/gtest.h>

#include "model/profile_assembler.h"

namespace tephra::analysis {
namespace {

struct Row {
  std::string event;
  std::vector<std::string> frames;
  uint64_t value;
};

model::Profile make_profile(const std::vector<Row>& rows) {
  model::ProfileAssembler made;
  const auto mapping = made.mapping({.path = made.string("/bin/app"), .kind = model::CodeKind::kFile});
  const auto thread = made.thread({1, 1, made.string("app")});
  for (const Row& row : rows) {
    model::StackId stack;
    for (const std::string& name : row.frames) {
      const auto function = made.function({made.string(name), made.string(name), true});
      stack = made.stack(stack, made.frame({.mapping = mapping, .function = function}));
    }
    const auto event = made.event({made.string(row.event), made.string("count")});
    made.sample({.stack = stack, .event = event, .thread = thread, .count = 1, .value = row.value});
  }
  return std::move(made).finish();
}

TEST(EventPair, TreeHoldsBothEvents) {
  const auto profile = make_profile({{"cycles", {"main", "a"}, 100},
                                     {"instructions", {"main", "a"}, 300},
                                     {"cycles", {"main", "b"}, 50},
                                     {"cache-misses", {"main", "c"}, 7},
                                     {"instructions", {"main"}, 20}});
  const auto tree = pair_tree(profile, {*find_event(profile, "cycles"), *find_event(profile, "instructions")});
  EXPECT_EQ(first_of(tree.tree.root().total), 150u);
  EXPECT_EQ(second_of(tree.tree.root().total), 320u);
  std::vector<std::string> lines;
  for (const CallNode& node : tree.tree.nodes) {
    lines.push_back(tree.tree.name(node).label + " " + std::to_string(first_of(node.total)) + " " +
                    std::to_string(second_of(node.total)));
  }
  EXPECT_EQ(lines, (std::vector<std::string>{"all 150 320", "app 150 320", "main 150 320", "a 100 300", "b 50 0"}));
}

TEST(EventPair, FindsEventsByTheirPlainNames) {
  const auto profile = make_profile({{"cpu_core/cycles/u", {"f"}, 1},
                                     {"instructions:u", {"f"}, 1},
                                     {"sched:sched_switch", {"f"}, 1},
                                     {"branches", {"f"}, 1},
                                     {"cycles:ppp", {"f"}, 1}});
  const auto name = [&](std::string_view wanted) {
    const auto id = find_event(profile, wanted);
    return id ? std::string(profile.text(profile.events[*id].name)) : "";
  };
  EXPECT_EQ(name("cycles"), "cpu_core/cycles/u");
  EXPECT_EQ(name("cpu-cycles"), "cpu_core/cycles/u");
  EXPECT_EQ(name("cycles:ppp"), "cycles:ppp");
  EXPECT_EQ(name("instructions"), "instructions:u");
  EXPECT_EQ(name("sched:sched_switch"), "sched:sched_switch");
  EXPECT_EQ(name("branch-instructions"), "branches");
  EXPECT_EQ(name("sched"), "");
  EXPECT_EQ(name(""), "");
  EXPECT_EQ(sampled_events(profile).size(), 5u);
}

TEST(EventPair, BeforeAndAfterAreOfFoldedStacksAlone) {
  auto profile = make_profile({{"before", {"f"}, 1}, {"after", {"f"}, 2}});
  EXPECT_FALSE(before_and_after(profile));
  profile.facts.format = "folded";
  EXPECT_TRUE(before_and_after(profile));
}

}  // namespace
}  // namespace tephra::analysis
