#include "analysis/report.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <tuple>

#include "analysis/profile_for_tests.h"
#include "model/redaction.h"

namespace tephra::analysis {
namespace {

const ReportEntry* find(const Report& report, std::string_view symbol, std::string_view comm = "prog") {
  for (const ReportEntry& entry : report.entries) {
    if (entry.symbol == symbol && entry.comm == comm) return &entry;
  }
  return nullptr;
}

// "main(10 work(9 hot(7)))": a tree of chains as one line.
std::string folded(const std::vector<ChainNode>& nodes) {
  std::string text;
  for (const ChainNode& node : nodes) {
    if (!text.empty()) text += ' ';
    text += std::string(node.name) + "(" + std::to_string(node.weight.value);
    if (!node.children.empty()) text += " " + folded(node.children);
    text += ")";
  }
  return text;
}

TEST(Report, WordsAndKeysAgree) {
  for (const auto word : {"comm", "pid", "tid", "cpu", "event", "dso", "symbol", "srcline"}) {
    ASSERT_TRUE(sort_key(word)) << word;
    EXPECT_EQ(sort_key_name(*sort_key(word)), word);
  }
  EXPECT_EQ(sort_key("sym"), SortKey::kSymbol);
  EXPECT_FALSE(sort_key("colour"));
}

// Filters are about the names that users know, not about those that are shown.
TEST(Report, RedactedProfilesAreFilteredByTheirRealNames) {
  model::ProfileAssembler assembler;
  const auto event = assembler.event({assembler.string("cpu-clock"), assembler.string("ns")});
  const auto mapping = assembler.mapping({.path = assembler.string("/opt/app"), .kind = model::CodeKind::kFile});
  for (const char* name : {"first", "second"}) {
    const auto thread = assembler.thread({1, 1, assembler.string(std::string("in-") + name)});
    const auto function = assembler.function({assembler.string(name), {}, true});
    const auto stack = assembler.stack({}, assembler.frame({.mapping = mapping, .function = function}));
    assembler.sample({stack, event, thread, 1, name[0] == 'f' ? 100u : 50u});
  }
  const auto named = std::move(assembler).finish();
  const auto redacted = model::redact(named, model::Redaction("key"));
  const auto shown = [&](const ReportOptions& options) { return make_report(redacted, options, named).shown.value; };
  EXPECT_EQ(shown({}), 150u);
  EXPECT_EQ(shown({.symbols = {"first"}}), 100u);
  EXPECT_EQ(shown({.comms = {"in-second"}}), 50u);
  EXPECT_EQ(shown({.dsos = {"app"}}), 150u);
  EXPECT_EQ(shown({.dsos = {"other"}}), 0u);
  const auto report = make_report(redacted, {.symbols = {"first"}}, named);
  ASSERT_EQ(report.entries.size(), 1u);
  EXPECT_TRUE(report.entries[0].symbol.starts_with("fn_")) << report.entries[0].symbol;
}

// The mapping of generated code is one function of a process.
TEST(Report, GeneratedCodeIsOneModule) {
  model::ProfileAssembler assembler;
  const auto event = assembler.event({assembler.string("cpu-clock"), assembler.string("ns")});
  const auto thread = assembler.thread({1, 1, assembler.string("node")});
  for (const char* name : {"JS:*first", "JS:*second"}) {
    const auto mapping = assembler.mapping({.path = assembler.string(name), .kind = model::CodeKind::kJit, .pid = 1});
    const auto function = assembler.function({assembler.string(name), {}, true});
    const auto stack = assembler.stack({}, assembler.frame({.mapping = mapping, .function = function}));
    assembler.sample({stack, event, thread, 1, 100});
  }
  const auto profile = std::move(assembler).finish();
  const auto report = make_report(profile, {.sort = {SortKey::kDso}, .children = false});
  ASSERT_EQ(report.entries.size(), 1u);
  EXPECT_EQ(report.entries[0].dso, "[jit]");
  EXPECT_EQ(report.entries[0].self.value, 200u);
}

TEST(Report, RanksByTotalWithChildrenAndBySelfWithout) {
  const auto profile = TestProfile().add("main;work;hot", 7, 700).add("main;work", 2, 200).add("main", 1, 100).finish();
  const auto with = make_report(profile, {});
  ASSERT_EQ(with.entries.size(), 3u);
  EXPECT_EQ(with.entries[0].symbol, "main");
  EXPECT_EQ(with.entries[0].total.value, 1000u);
  EXPECT_EQ(with.entries[0].self.value, 100u);
  EXPECT_EQ(with.entries[1].symbol, "work");
  EXPECT_EQ(with.event, "cpu-clock");
  EXPECT_EQ(with.unit, "ns");

  const auto without = make_report(profile, {.children = false});
  ASSERT_EQ(without.entries.size(), 3u);
  EXPECT_EQ(without.entries[0].symbol, "hot");
  EXPECT_EQ(without.entries[2].symbol, "main");
  EXPECT_EQ(without.entries[2].total.value, 100u);
}

TEST(Report, CommandsAreApartUnlessTheyAreNotSortedBy) {
  const auto profile = TestProfile().add("main;f", 1, 1, {.comm = "a"}).add("main;f", 2, 2, {.comm = "b"}).finish();
  const auto apart = make_report(profile, {});
  EXPECT_EQ(apart.entries.size(), 4u);
  ASSERT_TRUE(find(apart, "f", "a"));
  EXPECT_EQ(find(apart, "f", "a")->self.value, 1u);
  EXPECT_EQ(find(apart, "main", "b")->total.value, 2u);
  const auto joined = make_report(profile, {.sort = {SortKey::kSymbol}});
  ASSERT_EQ(joined.entries.size(), 2u);
  EXPECT_EQ(joined.entries[0].total.value, 3u);
  EXPECT_EQ(joined.entries[0].comm, "");
}

TEST(Report, ByThreadKeysOnlyEachSampleCountsOnce) {
  const auto profile = TestProfile()
                           .add("main;f;g", 1, 10, {.pid = 1, .tid = 2, .cpu = 0})
                           .add("main", 1, 5, {.pid = 1, .tid = 3, .cpu = 1})
                           .add("", 1, 1, {.pid = 1, .tid = 3, .cpu = 1})
                           .finish();
  const auto by_pid = make_report(profile, {.sort = {SortKey::kPid}});
  ASSERT_EQ(by_pid.entries.size(), 1u);
  EXPECT_EQ(by_pid.entries[0].pid, 1);
  EXPECT_EQ(by_pid.entries[0].self.value, 16u);
  EXPECT_EQ(by_pid.entries[0].total.value, 16u);
  const auto by_cpu = make_report(profile, {.sort = {SortKey::kCpu, SortKey::kTid}});
  ASSERT_EQ(by_cpu.entries.size(), 2u);
  EXPECT_EQ(by_cpu.entries[0].cpu, 0);
  EXPECT_EQ(by_cpu.entries[0].tid, 2);
  EXPECT_EQ(by_cpu.entries[1].total.value, 6u);
}

TEST(Report, FiltersLeaveTheWholeAsItIs) {
  const auto profile = TestProfile()
                           .add("main;memcpy@/usr/lib/libc.so.6", 6, 60, {.comm = "a", .pid = 7, .tid = 7})
                           .add("main", 4, 40, {.comm = "b", .pid = 8, .tid = 9})
                           .finish();
  const auto comm = make_report(profile, {.comms = {"b", "c"}});
  ASSERT_EQ(comm.entries.size(), 1u);
  EXPECT_EQ(comm.entries[0].comm, "b");
  EXPECT_EQ(comm.whole.value, 100u);
  EXPECT_EQ(comm.shown.value, 40u);
  EXPECT_EQ(make_report(profile, {.pids = {7}}).entries.size(), 2u);
  EXPECT_EQ(make_report(profile, {.tids = {9}}).entries.size(), 1u);

  for (const std::string dso : {"libc.so.6", "/usr/lib/libc.so.6"}) {
    const auto report = make_report(profile, {.dsos = {dso}});
    ASSERT_EQ(report.entries.size(), 1u);
    EXPECT_EQ(report.entries[0].symbol, "memcpy");
    EXPECT_EQ(report.shown.value, 60u);
  }
  const auto symbol = make_report(profile, {.sort = {SortKey::kSymbol}, .symbols = {"main"}});
  ASSERT_EQ(symbol.entries.size(), 1u);
  EXPECT_EQ(symbol.entries[0].total.value, 100u);
  EXPECT_EQ(symbol.entries[0].self.value, 40u);
}

TEST(Report, RowsBelowTheLimitAreCounted) {
  const auto profile = TestProfile().add("a", 99, 99).add("b", 1, 1).finish();
  const auto report = make_report(profile, {.percent_limit = 1.5});
  EXPECT_EQ(report.entries.size(), 1u);
  EXPECT_EQ(report.rows_below_limit, 1u);
  EXPECT_EQ(report.shown.value, 100u);
}

TEST(Report, EventsWithoutValuesAreMeasuredByCount) {
  const auto profile = TestProfile().add("a", 1, 0).add("b", 3, 0).finish();
  const auto report = make_report(profile, {.chains = ChainOrder::kCaller});
  ASSERT_EQ(report.entries.size(), 2u);
  EXPECT_EQ(report.entries[0].symbol, "b");
  EXPECT_EQ(report.measure(report.entries[0].total), 3u);
  EXPECT_EQ(report.entries[0].chains.size(), 1u);
}

TEST(ReportChains, CallerOrderGoesDown) {
  const auto profile =
      TestProfile().add("main;work;hot", 7, 70).add("main;work", 2, 20).add("main;hot", 1, 10).finish();
  const auto report = make_report(profile, {.chains = ChainOrder::kCaller});
  EXPECT_EQ(folded(find(report, "hot")->chains), "main(80 work(70 hot(70)) hot(10))");
  // What fell in work comes from the outermost caller, what it called goes down from it.
  EXPECT_EQ(folded(find(report, "work")->chains), "work(70 hot(70)) main(20 work(20))");
  EXPECT_EQ(folded(find(report, "main")->chains), "main(100 work(90 hot(70)) hot(10))");
}

TEST(ReportChains, CalleeOrderGoesUp) {
  const auto profile =
      TestProfile().add("main;work;hot", 7, 70).add("main;work", 2, 20).add("main;hot", 1, 10).finish();
  const auto self = make_report(profile, {.children = false, .chains = ChainOrder::kCallee});
  EXPECT_EQ(folded(find(self, "hot")->chains), "hot(80 work(70 main(70)) main(10))");
  const auto both = make_report(profile, {.chains = ChainOrder::kCallee});
  EXPECT_EQ(folded(find(both, "work")->chains), "work(90 main(90))");
}

TEST(ReportChains, RecursionBeginsAtTheOutermostCall) {
  const auto profile = TestProfile().add("main;f;f;g", 1, 100).finish();
  const auto report = make_report(profile, {.chains = ChainOrder::kCaller});
  EXPECT_EQ(folded(find(report, "f")->chains), "f(100 f(100 g(100)))");
}

TEST(ReportChains, SmallBranchesAreLeftOut) {
  const auto profile = TestProfile().add("main;a", 999, 999).add("main;b", 1, 1).finish();
  const auto report = make_report(profile, {.chains = ChainOrder::kCaller, .chain_percent_limit = 0.5});
  EXPECT_EQ(folded(find(report, "main")->chains), "main(1000 a(999))");
}

size_t count_nodes(const std::vector<ChainNode>& nodes) {
  size_t count = nodes.size();
  for (const ChainNode& node : nodes) count += count_nodes(node.children);
  return count;
}

// Each of its functions would have the rest of the stack for a chain.
TEST(ReportChains, AReportOfOneDeepStackIsBounded) {
  std::string stack = "f0";
  for (int i = 1; i < 6000; ++i) stack += ";f" + std::to_string(i);
  TestProfile deep;
  deep.add(stack, 1, 100);
  const auto report = make_report(deep.finish(), {.chains = ChainOrder::kCaller});
  EXPECT_EQ(report.entries.size(), 6000u);
  size_t nodes = 0;
  for (const ReportEntry& entry : report.entries) nodes += count_nodes(entry.chains);
  EXPECT_GT(nodes, 1'000'000u);
  EXPECT_LT(nodes, 2'100'000u);
}

TEST(ReportChains, BottomlessStacksAreCutAndSaySo) {
  std::string deep = "main";
  for (int i = 0; i < 5000; ++i) deep += ";f" + std::to_string(i);
  const auto profile = TestProfile().add(deep, 1, 1).finish();
  const auto report = make_report(profile, {.symbols = {"main"}, .chains = ChainOrder::kCaller});
  const ChainNode* node = &find(report, "main")->chains.at(0);
  while (!node->children.empty()) node = &node->children[0];
  EXPECT_EQ(node->name, "[deeper calls are not shown]");
}

// The plain definition, sample by sample, against which the walk over the tree is checked.
using Key = std::tuple<std::string, std::string, std::string>;
std::map<Key, std::pair<uint64_t, uint64_t>> by_definition(const model::Profile& profile) {
  std::map<Key, std::pair<uint64_t, uint64_t>> rows;
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    const std::string comm(profile.text(profile.threads[profile.samples.thread[i]].comm));
    std::set<Key> seen;
    bool leaf = true;
    for (auto at = profile.samples.stack[i]; at; at = profile.stacks[at].parent) {
      const auto frame = profile.stacks[at].frame;
      const Key key{comm, profile.text(profile.mappings[profile.frames[frame].mapping].path),
                    profile.function_name(frame)};
      if (leaf) rows[key].first += profile.samples.value[i];
      if (seen.insert(key).second) rows[key].second += profile.samples.value[i];
      leaf = false;
    }
    if (leaf) {
      auto& row = rows[Key{comm, "", "[no stack]"}];
      row.first += profile.samples.value[i];
      row.second += profile.samples.value[i];
    }
  }
  return rows;
}

TEST(ReportProperty, RandomProfilesMatchTheDefinitionAndNothingIsLost) {
  std::mt19937 random(20240229);
  for (int round = 0; round < 60; ++round) {
    TestProfile builder;
    const int samples = static_cast<int>(random() % 200);
    for (int i = 0; i < samples; ++i) {
      std::string stack;
      for (int depth = static_cast<int>(random() % 12); depth > 0; --depth) {
        if (!stack.empty()) stack += ';';
        stack += "f" + std::to_string(random() % 6) + (random() % 4 == 0 ? "@/lib/x.so" : "");
      }
      builder.add(stack, 1 + random() % 3, random() % 1000, {.comm = random() % 2 ? "a" : "b"});
    }
    const auto profile = builder.finish();
    const auto report = make_report(profile, {.chains = ChainOrder::kCaller, .chain_percent_limit = 0});
    EXPECT_EQ(report.shown, model::totals(profile));

    model::Totals self;
    std::map<Key, std::pair<uint64_t, uint64_t>> rows;
    for (const ReportEntry& entry : report.entries) {
      self.count += entry.self.count;
      self.value += entry.self.value;
      rows[Key{entry.comm, entry.dso, entry.symbol}] = {entry.self.value, entry.total.value};
      if (entry.symbol == "[no stack]") continue;
      uint64_t chains = 0;
      for (const ChainNode& node : entry.chains) chains += node.weight.value;
      EXPECT_EQ(chains, entry.total.value) << entry.symbol;
    }
    EXPECT_EQ(self, model::totals(profile));
    EXPECT_EQ(rows, by_definition(profile));
  }
}

}  // namespace
}  // namespace tephra::analysis
