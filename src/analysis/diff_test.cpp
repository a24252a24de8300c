#include "analysis/diff.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/diff_profiles_for_tests.h"
#include "analysis/profile_for_tests.h"

namespace tephra::analysis {
namespace {

uint32_t row(const Diff& diff, std::string_view name) {
  for (uint32_t i = 0; i < diff.tree.functions.size(); ++i) {
    if (diff.tree.functions[i].name == name && !diff.tree.functions[i].base) return i;
  }
  ADD_FAILURE() << "no function " << name;
  return 0;
}

size_t functions_named(const Diff& diff, std::string_view name) {
  return static_cast<size_t>(std::count_if(diff.tree.functions.begin(), diff.tree.functions.end(),
                                           [&](const DiffFunctionName& one) { return one.name == name; }));
}

// The innermost node of "main;work".
uint32_t node(const Diff& diff, std::string_view path) {
  uint32_t at = diff.tree.nodes[0].first_child;  // the thread
  while (true) {
    const std::string_view name = path.substr(0, path.find(';'));
    uint32_t child = diff.tree.nodes[at].first_child;
    while (child != 0 && diff.tree.functions[diff.tree.nodes[child].function].name != name) {
      child = diff.tree.nodes[child].next_sibling;
    }
    EXPECT_NE(child, 0u) << path;
    if (child == 0 || name.size() == path.size()) return child;
    at = child;
    path.remove_prefix(name.size() + 1);
  }
}

model::Profile counts(std::initializer_list<std::pair<const char*, uint64_t>> stacks) {
  TestProfile made;
  for (const auto& [stack, count] : stacks) made.add(stack, count, count * 1000);
  return made.finish();
}

std::vector<model::Profile> one(model::Profile profile) {
  std::vector<model::Profile> all;
  all.push_back(std::move(profile));
  return all;
}

// Folded stacks with these numbers.
model::Profile folded(const std::vector<uint64_t>& numbers) {
  model::ProfileAssembler made;
  const auto event = made.event({made.string("samples"), made.string("samples")});
  const auto thread = made.thread({});
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto name = made.string("f" + std::to_string(i));
    const auto stack = made.stack({}, made.frame({.function = made.function({name, name, true})}));
    made.sample({.stack = stack, .event = event, .thread = thread, .count = numbers[i], .value = numbers[i]});
  }
  return std::move(made).finish();
}

TEST(Diff, ValuesOfFoldedStacksAreNotTakenForSamples) {
  std::vector<uint64_t> samples;
  std::vector<uint64_t> periods;
  std::vector<uint64_t> times;
  for (uint64_t i = 0; i < 30; ++i) {
    samples.push_back(1 + i * i);
    periods.push_back((1 + i * i) * 50);
    times.push_back(1001 + i * 997);
  }
  const auto is_tested = [](const std::vector<uint64_t>& numbers, const DiffOptions& options = {}) {
    const Diff diff = diff_of(one(folded(numbers)), one(folded(numbers)), options);
    EXPECT_NE(diff.tests.spread.tested, diff.counts_are_values);
    return diff.tests.spread.tested;
  };
  EXPECT_TRUE(is_tested(samples));
  EXPECT_FALSE(is_tested(periods));
  EXPECT_FALSE(is_tested(times));
  EXPECT_FALSE(is_tested({7'000'001, 6'000'000}));
  EXPECT_FALSE(is_tested({UINT64_MAX, 1}));
  EXPECT_TRUE(is_tested({6000, 3000, 1000}));
  EXPECT_TRUE(is_tested(periods, {.tree = {.weight = DiffWeight::kSamples}, .weight_is_chosen = true}));
}

TEST(Diff, OfAProfileAndItselfIsEmpty) {
  KnownProfiles known(1);
  const auto profile = one(known.draw({.stacks = {{"main;a", 3}, {"main;b", 2}, {"main;a;c", 1}}}));
  for (const DiffBy by : {DiffBy::kShare, DiffBy::kTime, DiffBy::kSecond}) {
    const Diff diff = diff_of(profile, profile, {.tree = {.by = by}});
    EXPECT_TRUE(diff.changed_functions.empty());
    EXPECT_TRUE(diff.changed_paths.empty());
    EXPECT_EQ(diff.tests.spread.findings, 0u);
    for (const DiffValue& value : diff.tests.total) EXPECT_EQ(value.change(), 0);
    EXPECT_TRUE(regressions(diff, 0).empty());
  }
}

TEST(Diff, SumsAreThoseOfTheProfiles) {
  KnownProfiles known(2);
  const auto before = one(known.draw({.stacks = {{"main;a;b;a", 3}, {"main;b", 2}, {"main", 1}}, .samples = 500}));
  const auto after = one(known.draw({.stacks = {{"main;b;c", 3}, {"main;d", 2}}, .samples = 700}));
  const Diff diff = diff_of(before, after);
  model::Totals self[kDiffSides];
  for (const DiffNode& one_node : diff.tree.nodes) {
    for (size_t s = 0; s < kDiffSides; ++s) {
      self[s].count += one_node.self[s].count;
      self[s].value += one_node.self[s].value;
    }
  }
  EXPECT_EQ(self[0], model::totals(before[0]));
  EXPECT_EQ(self[1], model::totals(after[0]));
  EXPECT_EQ(diff.tree.nodes[0].total[0], model::totals(before[0]));
  EXPECT_EQ(diff.tree.sides[1].whole, model::totals(after[0]));
  double sum = 0;
  for (const DiffValue& value : diff.tests.self) sum += value.after;
  EXPECT_NEAR(sum, 1, 1e-9);
}

TEST(Diff, SwappingSidesNegates) {
  KnownProfiles known(3);
  const auto before = one(known.draw({.stacks = {{"main;a", 3}, {"main;b", 2}}}));
  const auto after = one(known.draw({.stacks = {{"main;a", 2}, {"main;b", 2}, {"main;c", 0.1}}}));
  const Diff there = diff_of(before, after);
  const Diff back = diff_of(after, before);
  for (const char* name : {"a", "b", "c", "main"}) {
    const DiffValue& one_way = there.tests.total[row(there, name)];
    const DiffValue& other_way = back.tests.total[row(back, name)];
    EXPECT_NEAR(one_way.change(), -other_way.change(), 1e-12);
    EXPECT_NEAR(one_way.low, -other_way.high, 1e-12);
    EXPECT_NEAR(one_way.p, other_way.p, 1e-9);
    EXPECT_EQ(one_way.finding, other_way.finding);
  }
}

TEST(Diff, RecursionCountsOnce) {
  const Diff diff = diff_of(one(counts({{"main;f;g;f;f", 60}, {"main;g", 40}})), one(counts({{"main;f", 100}})));
  EXPECT_EQ(diff.tree.sums[row(diff, "f")].total[0].count, 60u);
  EXPECT_EQ(diff.tree.sums[row(diff, "g")].total[0].count, 100u);
  EXPECT_NEAR(diff.tests.total[row(diff, "f")].before, 0.6, 1e-12);
  EXPECT_NEAR(diff.tests.total[row(diff, "f")].after, 1, 1e-12);
}

TEST(Diff, ClonesAreMatchedAndVersionsOfLibrariesAreOne) {
  const Diff diff =
      diff_of(one(counts({{"main;parse.isra.0;memcpy@/lib/libc-2.31.so", 50}, {"main;run::{lambda()#1}", 50}})),
              one(counts({{"main;parse;memcpy@/lib/libc.so.6", 50}, {"main;run::{lambda()#3}", 50}})));
  EXPECT_TRUE(diff.changed_functions.empty());
  const DiffFunctionName& parse = diff.tree.functions[row(diff, "parse")];
  EXPECT_EQ(parse.before_name, "parse.isra.0");
  EXPECT_EQ(functions_named(diff, "memcpy"), 1u);
}

TEST(Diff, OneNameInTwoModulesIsTwoFunctions) {
  const Diff diff = diff_of(one(counts({{"main;init@/lib/a.so", 50}, {"main;init@/lib/b.so", 50}})),
                            one(counts({{"main;init@/lib/a.so", 50}, {"main;init@/lib/b.so", 50}})));
  EXPECT_EQ(functions_named(diff, "init"), 2u);
}

TEST(Diff, ARenamedFunctionIsProposedWithAScore) {
  const Diff diff =
      diff_of(one(counts({{"main;work;decode_old;copy", 300}, {"main;work;decode_old", 100}, {"main;rest", 600}})),
              one(counts({{"main;work;decode_new;copy", 290}, {"main;work;decode_new", 105}, {"main;rest", 605}})));
  ASSERT_EQ(diff.moves.renames.size(), 1u);
  const DiffRename& rename = diff.moves.renames[0];
  EXPECT_EQ(diff.tree.functions[rename.before].name, "decode_old");
  EXPECT_EQ(diff.tree.functions[rename.after].name, "decode_new");
  EXPECT_GT(rename.score, 0.8);
  EXPECT_LE(rename.score, 1);
}

TEST(Diff, WhatTheUserSaysWasRenamedIsOne) {
  DiffOptions options;
  options.tree.match.renamed["old"] = "new";
  const Diff diff = diff_of(one(counts({{"main;old", 400}, {"main;rest", 600}})),
                            one(counts({{"main;new", 400}, {"main;rest", 600}})), options);
  EXPECT_TRUE(diff.changed_functions.empty());
  EXPECT_EQ(diff.tree.functions[row(diff, "new")].before_name, "old");
}

TEST(Diff, AMovedSubtreeIsProposed) {
  const Diff diff = diff_of(one(counts({{"main;a;load;parse", 300}, {"main;a", 300}, {"main;b", 400}})),
                            one(counts({{"main;b;load;parse", 300}, {"main;a", 300}, {"main;b", 400}})));
  ASSERT_EQ(diff.moves.moves.size(), 1u);
  EXPECT_EQ(diff.moves.moves[0].from, node(diff, "main;a;load"));
  EXPECT_EQ(diff.moves.moves[0].to, node(diff, "main;b;load"));
  EXPECT_GT(diff.moves.moves[0].score, 0.9);
}

TEST(Diff, CostThatMovedBetweenSiblingsIsShifted) {
  const auto before = one(counts({{"main;parent;x", 300}, {"main;parent;y", 200}, {"main;other", 500}}));
  const auto after = one(counts({{"main;parent;x", 200}, {"main;parent;y", 300}, {"main;other", 500}}));
  const Diff diff = diff_of(before, after);
  EXPECT_EQ(diff.moves.shifted_within[node(diff, "main;parent;x")], node(diff, "main;parent"));
  EXPECT_EQ(diff.moves.shifted_within[node(diff, "main;parent;y")], node(diff, "main;parent"));
  // What grew at the cost of all others is no shift: of shares, the whole is always the same.
  const Diff grown =
      diff_of(one(counts({{"main;x", 500}, {"main;y", 500}})), one(counts({{"main;x", 300}, {"main;y", 700}})));
  EXPECT_EQ(grown.moves.shifted_within[node(grown, "main;x")], 0u);
}

TEST(Diff, ThreadsOfAnotherNameOnEachSideAreOne) {
  TestProfile before;
  before.add("main;work", 100, 100, {.comm = "app-1.0"});
  TestProfile after;
  after.add("main;work", 100, 100, {.comm = "app-1.1"});
  const Diff diff = diff_of(one(before.finish()), one(after.finish()));
  EXPECT_TRUE(diff.changed_paths.empty());
  ASSERT_EQ(diff.tree.joined_threads.size(), 1u);
  EXPECT_EQ(diff.tree.joined_threads[0], std::make_pair(std::string("app-1.0"), std::string("app-1.1")));
}

TEST(Diff, OtherEventsAreRefused) {
  TestProfile cycles("cycles", "count");
  TestProfile faults("page-faults", "count");
  TestProfile precise("cycles:ppp", "count");
  const model::Profile one_event = cycles.add("main", 10, 10).finish();
  const model::Profile other = faults.add("main", 10, 10).finish();
  const model::Profile same = precise.add("main", 10, 10).finish();
  const auto compare = [](const model::Profile& a, const model::Profile& b) {
    return diff({{.profile = &a, .named = &a, .side = DiffSide::kBefore},
                 {.profile = &b, .named = &b, .side = DiffSide::kAfter}},
                {});
  };
  const auto refused = compare(one_event, other);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("--event-filter"), std::string::npos);
  EXPECT_TRUE(compare(one_event, same).ok());
}

TEST(Diff, WorkAndTimeDoNotHideThatAllGrew) {
  KnownProfiles known(4);
  const KnownRun run{.stacks = {{"main;a", 1}, {"main;b", 1}}, .samples = 8000, .seconds = 8};
  KnownRun longer = run;
  longer.samples = 12000;
  longer.seconds = 12;
  const auto before = one(known.draw(run));
  const auto after = one(known.draw(longer));
  EXPECT_TRUE(diff_of(before, after).changed_functions.empty());
  const Diff time = diff_of(before, after, {.tree = {.by = DiffBy::kTime}});
  EXPECT_NEAR(time.of_base(time.tests.total[row(time, "main")].change()), 0.5, 1e-9);
  EXPECT_TRUE(time.tests.total[row(time, "a")].finding);
  EXPECT_TRUE(time.tests.paths[0].finding);
  const Diff second = diff_of(before, after, {.tree = {.by = DiffBy::kSecond}});
  EXPECT_NEAR(second.of_base(second.tests.total[row(second, "main")].change()), 0, 1e-3);
  const Diff work = diff_of(before, after, {.tree = {.by = DiffBy::kWork}}, {1000, 1500});
  EXPECT_NEAR(work.of_base(work.tests.total[row(work, "main")].change()), 0, 1e-9);
  EXPECT_TRUE(work.changed_functions.empty());
}

TEST(Diff, NumbersThatAreNoSamplesAreNotTestedByThemselves) {
  const auto heap = [](uint64_t bytes) {
    model::ProfileAssembler made;
    const auto event = made.event({made.string("inuse_space"), made.string("bytes"), made.string("inuse_objects")});
    const auto name = made.string("main");
    const auto frame = made.frame({.function = made.function({name, name, true})});
    made.sample(
        {.stack = made.stack({}, frame), .event = event, .thread = made.thread({}), .count = 1000, .value = bytes});
    return std::move(made).finish();
  };
  const Diff diff = diff_of(one(heap(1 << 20)), one(heap(1 << 21)), {.tree = {.by = DiffBy::kTime}});
  EXPECT_FALSE(diff.tests.spread.tested);
  EXPECT_TRUE(diff.changed_functions.empty());
  EXPECT_NEAR(diff.of_base(diff.tests.total[row(diff, "main")].change()), 1, 1e-12);
}

TEST(Diff, RegressionsAreThoseWhoseWholeIntervalIsAbove) {
  KnownProfiles known(5);
  const auto before = one(known.draw({.stacks = {{"main;a", 80}, {"main;b", 20}}, .samples = 20000}));
  const auto after = one(known.draw({.stacks = {{"main;a", 70}, {"main;b", 30}}, .samples = 20000}));
  const Diff diff = diff_of(before, after);
  const auto found = regressions(diff, 0.02);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(diff.tree.functions[found[0].function].name, "b");
  EXPECT_GT(found[0].low, 0.08);
  EXPECT_TRUE(regressions(diff, 0.11).empty());
}

TEST(Diff, DeepStacksAreNoTrouble) {
  std::string deep = "main";
  for (int i = 0; i < 20'000; ++i) deep += i % 2 == 0 ? ";f" : ";g";
  const Diff diff = diff_of(one(counts({{deep.c_str(), 10}})), one(counts({{deep.c_str(), 20}})));
  EXPECT_EQ(diff.tree.sums[row(diff, "f")].total[1].count, 20u);
}

}  // namespace
}  // namespace tephra::analysis
