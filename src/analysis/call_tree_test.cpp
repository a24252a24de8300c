#include "analysis/call_tree.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analysis/call_tree_for_tests.h"
#include "analysis/flame_layout.h"
#include "model/profile_assembler.h"

namespace tephra::analysis {
namespace {

using model::ProfileAssembler;
using model::Totals;

// Profiles from names alone: stacks as lists from the outermost function to the leaf.
class Maker {
 public:
  Maker() : file_(made_.mapping({.path = made_.string("/bin/app"), .kind = model::CodeKind::kFile})) {
    event_ = made_.event({made_.string("cpu-clock"), made_.string("ns")});
  }

  model::FrameId frame(std::string_view name, bool inlined = false, uint32_t line = 0, uint64_t address = 0) {
    const auto function = made_.function({.name = made_.string(name), .named = true});
    return made_.frame({.mapping = file_,
                        .inlined = inlined,
                        .address = address,
                        .function = function,
                        .file = made_.string("app.c"),
                        .line = line});
  }
  void sample(std::string_view comm, std::initializer_list<model::FrameId> frames, uint64_t count = 1,
              uint64_t value = 10) {
    model::StackId stack;
    for (const auto id : frames) stack = made_.stack(stack, id);
    const auto thread = made_.thread({.pid = 7, .tid = 8, .comm = made_.string(comm)});
    made_.sample({.stack = stack, .event = event_, .thread = thread, .count = count, .value = value});
  }
  model::Profile finish() { return std::move(made_).finish(); }

 private:
  ProfileAssembler made_;
  model::MappingId file_;
  model::EventId event_;
};

using Lines = std::vector<std::string>;

TEST(CallTree, MergesByNameUnderTheThread) {
  Maker make;
  make.sample("app", {make.frame("main", false, 5), make.frame("b", false, 20)});
  make.sample("app", {make.frame("main", false, 9), make.frame("a")}, 3);
  make.sample("app", {make.frame("main", false, 7)}, 2);
  make.sample("aux", {make.frame("main")});
  const auto profile = make.finish();
  const CallTree tree = call_tree(profile);
  EXPECT_EQ(outline(tree),
            (Lines{"all 0/7", " app 0/6", "  main 2/6", "   a 3/3", "   b 1/1", " aux 0/1", "  main 1/1"}));
  const CallNode& main = tree.nodes[2];
  EXPECT_EQ(main.first_line, 5u);
  EXPECT_EQ(main.last_line, 9u);
  EXPECT_EQ(profile.text(main.file), "app.c");
  EXPECT_EQ(module_name(profile, main.mapping), "app");
  EXPECT_EQ(tree.name(tree.nodes[1]).kind, FrameKind::kBase);
}

TEST(CallTree, BaseFrameChoices) {
  Maker make;
  make.sample("app", {make.frame("main")});
  make.sample("aux", {});
  const auto profile = make.finish();
  EXPECT_EQ(outline(call_tree(profile, {.base = BaseFrame::kNone})), (Lines{"all 1/2", " main 1/1"}));
  EXPECT_EQ(outline(call_tree(profile, {.base = BaseFrame::kCommPid})),
            (Lines{"all 0/2", " app-7 0/1", "  main 1/1", " aux-7 1/1"}));
  EXPECT_EQ(outline(call_tree(profile, {.base = BaseFrame::kCommPidTid}))[1], " app-7/8 0/1");
}

TEST(CallTree, InlinedAndCalledOnceAreDifferentFrames) {
  Maker make;
  make.sample("app", {make.frame("f", true)});
  make.sample("app", {make.frame("f", false)});
  const CallTree tree = call_tree(make.finish(), {.base = BaseFrame::kNone});
  EXPECT_EQ(outline(tree), (Lines{"all 0/2", " f 1/1", " f 1/1"}));
  EXPECT_FALSE(tree.name(tree.nodes[1]).inlined);
  EXPECT_TRUE(tree.name(tree.nodes[2]).inlined);
}

TEST(CallTree, LeafFirstShowsCallersAboveCallees) {
  Maker make;
  make.sample("app", {make.frame("main"), make.frame("a"), make.frame("memcpy")}, 2);
  make.sample("app", {make.frame("main"), make.frame("b"), make.frame("memcpy")});
  EXPECT_EQ(outline(call_tree(make.finish(), {.leaf_first = true})),
            (Lines{"all 0/3", " memcpy 0/3", "  a 0/2", "   main 0/2", "    app 2/2", "  b 0/1", "   main 0/1",
                   "    app 1/1"}));
}

TEST(CallTree, ShorteningMergesInstances) {
  Maker make;
  make.sample("app", {make.frame("sort<int>")});
  make.sample("app", {make.frame("sort<long>")});
  const auto profile = make.finish();
  EXPECT_EQ(call_tree(profile).nodes.size(), 4u);
  EXPECT_EQ(outline(call_tree(profile, {.labels = {.shorten = true}})),
            (Lines{"all 0/2", " app 0/2", "  sort<…> 2/2"}));
}

TEST(CallTree, InOrderOnlyNeighboursAreMerged) {
  Maker make;
  make.sample("app", {make.frame("main"), make.frame("z")}, 2);
  make.sample("app", {make.frame("main"), make.frame("a")});
  make.sample("app", {make.frame("main"), make.frame("z")}, 3);
  make.sample("app", {make.frame("main"), make.frame("z"), make.frame("y")}, 4);
  make.sample("other", {make.frame("main")});
  make.sample("app", {make.frame("main")});
  const auto profile = make.finish();
  EXPECT_EQ(outline(ordered_call_tree(profile)),
            (Lines{"all 0/12", " app 0/10", "  main 0/10", "   z 2/2", "   a 1/1", "   z 3/7", "    y 4/4",
                   " other 0/1", "  main 1/1", " app 0/1", "  main 1/1"}));
  std::vector<uint64_t> places;
  for (const FlameRect& rect : flame_layout(ordered_call_tree(profile), Weight::kSamples).rects)
    places.push_back(rect.x);
  EXPECT_EQ(places, (std::vector<uint64_t>{0, 0, 0, 0, 2, 3, 6, 10, 10, 11, 11}));
  const CallTree reversed = ordered_call_tree(profile, {.base = BaseFrame::kNone, .leaf_first = true});
  EXPECT_EQ(reversed.nodes[1].total.count, 2u);
  EXPECT_EQ(reversed.name(reversed.nodes[1]).label, "z");
  EXPECT_EQ(outline(ordered_call_tree(ProfileAssembler().finish())), (Lines{"all 0/0"}));
}

TEST(CallTree, WhatLightNodesCallMayBeLeftOut) {
  Maker make;
  make.sample("app", {make.frame("main"), make.frame("a"), make.frame("b"), make.frame("c")}, 2);
  make.sample("app", {make.frame("main"), make.frame("a"), make.frame("d")}, 1);
  make.sample("app", {make.frame("main"), make.frame("e"), make.frame("b")}, 7);
  const auto profile = make.finish();
  const CallTree all = call_tree(profile);
  EXPECT_EQ(all.left_out, 0u);
  const CallTree cut = call_tree(profile, {.least = 5});
  EXPECT_EQ(outline(cut), (Lines{"all 0/10", " app 0/10", "  main 0/10", "   a 3/3", "   e 0/7", "    b 7/7"}));
  EXPECT_EQ(cut.left_out, 3u);
  FlameLayout whole = flame_layout(all, Weight::kSamples, 5);
  const FlameLayout same = flame_layout(cut, Weight::kSamples, 5);
  EXPECT_EQ(same.culled, whole.culled);
  ASSERT_EQ(same.rects.size(), whole.rects.size());
  for (size_t i = 0; i < same.rects.size(); ++i) {
    EXPECT_EQ(same.rects[i].x, whole.rects[i].x);
    EXPECT_EQ(same.rects[i].width, whole.rects[i].width);
    EXPECT_EQ(same.rects[i].depth, whole.rects[i].depth);
  }
}

TEST(FlameLayout, WidensToATotal) {
  const std::vector<FlameNode> nodes{{0, 0, 4}, {0, 1, 4}, {1, 3, 3}};
  FlameLayout layout = flame_layout(nodes);
  EXPECT_EQ(layout.rects, (std::vector<FlameRect>{{0, 4, 0, 0}, {0, 4, 1, 1}, {1, 3, 2, 2}}));
  EXPECT_EQ(layout.rows, (std::vector<FlameRow>{{0, 0, 0}, {0, 1, 0}, {1, 2, 0}}));
  widen(layout, 3);
  EXPECT_EQ(layout.total, 4u);
  widen(layout, 10);
  EXPECT_EQ(layout.total, 10u);
  EXPECT_EQ(layout.rects[0].width, 10u);
  EXPECT_EQ(layout.rects[1].width, 4u);
}

TEST(Labels, KindsOfImportedAndInterpretedNames) {
  const std::pair<const char*, FrameKind> cases[] = {{"vfs_read_[k]", FrameKind::kKernel},
                                                     {"put_[j]", FrameKind::kJit},
                                                     {"put_[1]", FrameKind::kJit},
                                                     {"put_[0]", FrameKind::kInterpreted},
                                                     {"try_to_wake_up_[w]", FrameKind::kWaiting},
                                                     {"inlined_[i]", FrameKind::kNative},
                                                     {"_PyEval_EvalFrameDefault", FrameKind::kInterpreted},
                                                     {"py::f:/a/b.py", FrameKind::kInterpreted},
                                                     {"my_PyEval_EvalFrameDefault", FrameKind::kNative},
                                                     {"main", FrameKind::kNative}};
  for (const auto& [name, kind] : cases) {
    ProfileAssembler made;
    const auto mapping = made.mapping({.kind = model::CodeKind::kImported});
    const auto frame =
        made.frame({.mapping = mapping, .function = made.function({.name = made.string(name), .named = true})});
    EXPECT_EQ(frame_kind(std::move(made).finish(), frame), kind) << name;
  }
  EXPECT_EQ(without_mark("f_[k]"), "f");
  EXPECT_EQ(without_mark("_[k]"), "_[k]");
}

TEST(CallTree, EmptyProfileIsARoot) {
  const CallTree tree = call_tree(ProfileAssembler().finish());
  EXPECT_EQ(outline(tree), (Lines{"all 0/0"}));
  const FlameLayout layout = flame_layout(tree, Weight::kSamples);
  EXPECT_EQ(layout.total, 0u);
  EXPECT_EQ(layout.rects.size(), 1u);
}

TEST(Labels, UnknownFramesAreNeverEmpty) {
  ProfileAssembler made;
  const auto file = made.mapping({.path = made.string("/lib/libx.so"), .kind = model::CodeKind::kFile});
  const auto frame = made.frame({.mapping = file, .address = 0x1200});
  const auto kernel = made.frame({.mapping = made.mapping({.kind = model::CodeKind::kKernel}), .address = 0x10});
  const auto profile = std::move(made).finish();
  EXPECT_EQ(frame_label(profile, frame), "[unknown] libx.so+0x1200");
  EXPECT_EQ(frame_label(profile, kernel), "[unknown] [kernel]+0x10");
  EXPECT_EQ(frame_kind(profile, frame), FrameKind::kUnnamed);
  EXPECT_EQ(frame_kind(profile, kernel), FrameKind::kKernel);
}

TEST(Labels, ImportedNamesTellTheirKind) {
  ProfileAssembler made;
  const auto imported = made.mapping({.kind = model::CodeKind::kImported});
  const auto frame = [&](std::string_view name) {
    return made.frame({.mapping = imported, .function = made.function({.name = made.string(name), .named = true})});
  };
  const auto kernel = frame("do_sys_read_[k]");
  const auto jit = frame("Lfoo;::bar_[j]");
  const auto inlined = frame("Lfoo;::baz_[i]");
  const auto profile = std::move(made).finish();
  EXPECT_EQ(frame_kind(profile, kernel), FrameKind::kKernel);
  EXPECT_EQ(frame_kind(profile, jit), FrameKind::kJit);
  EXPECT_TRUE(is_inlined(profile, inlined));
  EXPECT_FALSE(is_inlined(profile, jit));
}

TEST(Labels, InlinedMark) {
  Maker make;
  const auto frame = make.frame("f<int>", true);
  const auto profile = make.finish();
  EXPECT_EQ(frame_label(profile, frame, {.mark_inlined = true}), "f<int> (inlined)");
  EXPECT_EQ(frame_label(profile, frame, {.shorten = true, .mark_inlined = true}), "f<…> (inlined)");
}

model::Profile random_profile(uint32_t seed) {
  std::mt19937 random(seed);
  Maker make;
  const auto pick = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
  std::vector<model::FrameId> frames;
  for (uint32_t i = 0; i < 40; ++i) {
    frames.push_back(make.frame("f" + std::to_string(pick(12)), pick(4) == 0, pick(9), i));
  }
  for (uint32_t i = 0, count = pick(200); i < count; ++i) {
    const auto f = [&] { return frames[pick(40)]; };
    const std::string comm = "c" + std::to_string(pick(4));
    switch (pick(5)) {
      case 0:
        make.sample(comm, {}, pick(3), pick(100));
        break;
      case 1:
        make.sample(comm, {f()}, pick(3), pick(100));
        break;
      case 2:
        make.sample(comm, {f(), f()}, pick(3), pick(100));
        break;
      case 3:
        make.sample(comm, {f(), f(), f()}, pick(3), pick(100));
        break;
      default:
        make.sample(comm, {f(), f(), f(), f(), f()}, pick(3), pick(100));
        break;
    }
  }
  return make.finish();
}

void expect_sound(const CallTree& tree, const Totals& expected) {
  Totals self;
  std::vector<Totals> below(tree.nodes.size());
  for (size_t i = tree.nodes.size(); i-- > 0;) {
    const CallNode& node = tree.nodes[i];
    self.count += node.self.count;
    self.value += node.self.value;
    ASSERT_EQ(node.total.count, node.self.count + below[i].count);
    ASSERT_EQ(node.total.value, node.self.value + below[i].value);
    if (i == 0) break;
    ASSERT_LT(node.parent, i);
    ASSERT_EQ(node.depth, tree.nodes[node.parent].depth + 1);
    below[node.parent].count += node.total.count;
    below[node.parent].value += node.total.value;
    if (node.next_sibling != 0) {
      ASSERT_LT(tree.name(node), tree.name(tree.nodes[node.next_sibling]));
    }
  }
  EXPECT_EQ(self, expected);
  EXPECT_EQ(tree.root().total, expected);
}

// Children lie inside their parent and side by side, and nothing is wider or elsewhere because others were left out.
void expect_sound(const CallTree& tree, const FlameLayout& layout, uint64_t min_width) {
  EXPECT_EQ(layout.rects.size() + layout.culled, tree.nodes.size());
  std::map<uint32_t, FlameRect> by_node;
  std::map<uint32_t, uint64_t> end_of_row;
  for (const FlameRect& rect : layout.rects) {
    ASSERT_GE(rect.x, end_of_row[rect.depth]);
    end_of_row[rect.depth] = rect.x + rect.width;
    by_node[rect.node] = rect;
    if (rect.node == 0) continue;
    ASSERT_GE(rect.width, std::max<uint64_t>(min_width, 1));
    ASSERT_TRUE(by_node.contains(tree.nodes[rect.node].parent));
    const FlameRect& parent = by_node[tree.nodes[rect.node].parent];
    ASSERT_GE(rect.x, parent.x);
    ASSERT_LE(rect.x + rect.width, parent.x + parent.width);
  }
}

TEST(CallTreeProperty, SumOfSelfIsTheProfilesTotals) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const auto profile = random_profile(seed);
    for (const BaseFrame base : {BaseFrame::kNone, BaseFrame::kComm, BaseFrame::kCommPidTid}) {
      for (const bool leaf_first : {false, true}) {
        const CallTree tree = call_tree(profile, {.base = base, .leaf_first = leaf_first});
        expect_sound(tree, model::totals(profile));
        for (const uint64_t min_width : {0, 2, 40}) {
          for (const Weight weight : {Weight::kSamples, Weight::kValue}) {
            expect_sound(tree, flame_layout(tree, weight, min_width), min_width);
          }
        }
      }
    }
  }
}

TEST(CallTreeProperty, OrderOfSamplesDoesNotMatter) {
  Maker forward;
  Maker backward;
  const std::vector<std::string> names{"z", "b", "a", "m"};
  for (size_t i = 0; i < 4; ++i) forward.sample("t" + names[i], {forward.frame(names[i]), forward.frame("x")}, i);
  for (size_t i = 4; i-- > 0;) backward.sample("t" + names[i], {backward.frame(names[i]), backward.frame("x")}, i);
  EXPECT_EQ(outline(call_tree(forward.finish())), outline(call_tree(backward.finish())));
}

TEST(FlameLayout, OwnWeightFirstThenChildrenByName) {
  Maker make;
  make.sample("app", {make.frame("main")}, 2);
  make.sample("app", {make.frame("main"), make.frame("b")}, 3);
  make.sample("app", {make.frame("main"), make.frame("a")}, 5);
  const CallTree tree = call_tree(make.finish(), {.base = BaseFrame::kNone});
  const FlameLayout layout = flame_layout(tree, Weight::kSamples);
  EXPECT_EQ(layout.rects, (std::vector<FlameRect>{{0, 10, 0, 0}, {0, 10, 1, 1}, {2, 5, 2, 2}, {7, 3, 2, 3}}));
  EXPECT_EQ(layout.depth(), 3u);
  const FlameLayout wide = flame_layout(tree, Weight::kSamples, 4);
  EXPECT_EQ(wide.rects, (std::vector<FlameRect>{{0, 10, 0, 0}, {0, 10, 1, 1}, {2, 5, 2, 2}}));
  EXPECT_EQ(wide.culled, 1u);
}

}  // namespace
}  // namespace tephra::analysis
