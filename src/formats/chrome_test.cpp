#include "formats/chrome.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "formats/json_profiles_for_tests.h"

namespace tephra::formats {
namespace {

using Rows = std::vector<std::pair<std::string, uint64_t>>;

constexpr std::string_view kNodes = R"json("nodes":[
    {"id":1,"callFrame":{"functionName":"(root)","url":"","lineNumber":-1},"children":[2,3]},
    {"id":2,"callFrame":{"functionName":"","url":"a.js","lineNumber":0},"children":[4]},
    {"id":3,"callFrame":{"functionName":"(idle)","url":"","lineNumber":-1}},
    {"id":4,"callFrame":{"functionName":"f","url":"a.js","lineNumber":9},"hitCount":3,
     "positionTicks":[{"line":11,"ticks":2}]}])json";

std::string profile_of(std::string_view rest) { return "{" + std::string(kNodes) + "," + std::string(rest) + "}"; }

TEST(ChromeProfile, GivesASampleTheTimeUpToTheNext) {
  const std::string text = profile_of(R"("startTime":100,"endTime":190,"samples":[4,3,4],"timeDeltas":[10,20,30])");
  EXPECT_EQ(kChromeProfile.refusal(base::as_bytes(text)), "");
  const auto profile = read_text(kChromeProfile, text);
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  const Rows expected{{"(anonymous);f", 20'000}, {"(idle)", 30'000}, {"(anonymous);f", 30'000}};
  EXPECT_EQ(rows_of(*profile), expected);
  EXPECT_EQ(profile->samples.time, (std::vector<uint64_t>{110'000, 130'000, 160'000}));
  EXPECT_EQ(model::totals(*profile).count, 3u);
  const model::Frame& leaf = profile->frames[profile->stacks[profile->samples.stack[0]].frame];
  EXPECT_EQ(profile->text(leaf.file), "a.js");
  EXPECT_EQ(profile->functions[leaf.function].start_line, 10u);
}

TEST(ChromeProfile, SortsSamplesWhoseDeltasGoBack) {
  const auto profile =
      read_text(kChromeProfile, profile_of(R"("startTime":0,"endTime":50,"samples":[4,3,4],"timeDeltas":[10,20,-15])"));
  ASSERT_TRUE(profile.ok());
  const Rows expected{{"(anonymous);f", 5'000}, {"(anonymous);f", 15'000}, {"(idle)", 20'000}};
  EXPECT_EQ(rows_of(*profile), expected);
}

TEST(ChromeProfile, TimesBeyondAllMeasureDoNotWrap) {
  const auto profile = read_text(
      kChromeProfile, profile_of(R"("startTime":0,"endTime":1,"samples":[4,3,4],"timeDeltas":[1000,1e16,1e16])"));
  ASSERT_TRUE(profile.ok());
  for (const auto& [stack, value] : rows_of(*profile)) EXPECT_LE(value, uint64_t{9'000'000'000'000'000'000}) << stack;
  for (const std::string_view times : {"[1e308,1e308,1]", "[1e999,1,1]", "[1e999,-1e999,1]"}) {
    const std::string text = profile_of(R"("samples":[4,3,4],"timeDeltas":)" + std::string(times));
    EXPECT_FALSE(read_text(kChromeProfile, text).ok()) << times;
  }
}

TEST(ChromeProfile, CountsHitsByLineWithoutSamples) {
  const auto profile = read_text(kChromeProfile, profile_of(R"("startTime":1,"endTime":2)"));
  ASSERT_TRUE(profile.ok());
  const Rows expected{{"(anonymous);f", 2}, {"(anonymous);f", 1}};
  EXPECT_EQ(rows_of(*profile), expected);
  EXPECT_EQ(profile->frames[profile->stacks[profile->samples.stack[0]].frame].line, 11u);
  EXPECT_EQ(profile->frames[profile->stacks[profile->samples.stack[1]].frame].line, 0u);
  EXPECT_TRUE(profile->samples.time.empty());
}

TEST(ChromeProfile, ReadsParentsAndTreesOfOldFiles) {
  const auto by_parent = read_text(kChromeProfile, R"({"nodes":[{"id":7,"parent":5,"callFrame":{"functionName":"b"}},
      {"id":5,"callFrame":{"functionName":"a"}}],"samples":[7,5],"timeDeltas":[0,5],"startTime":0,"endTime":6})");
  ASSERT_TRUE(by_parent.ok()) << by_parent.error().message();
  EXPECT_EQ(rows_of(*by_parent), (Rows{{"a;b", 5'000}, {"a", 1'000}}));
  const std::string tree = R"json({"head":{"functionName":"(root)","id":1,"children":[{"functionName":"a","url":"x.js",
      "lineNumber":3,"id":2,"children":[{"functionName":"b","id":3,"children":[]}]}]},
      "startTime":1,"endTime":1.00001,"samples":[3,2],"timestamps":[1000000,1000004]})json";
  EXPECT_EQ(kChromeProfile.refusal(base::as_bytes(tree)), "");
  const auto old = read_text(kChromeProfile, tree);
  ASSERT_TRUE(old.ok()) << old.error().message();
  EXPECT_EQ(rows_of(*old), (Rows{{"a;b", 4'000}, {"a", 6'000}}));
}

TEST(ChromeProfile, RefusesOrCountsWhatIsWrong) {
  EXPECT_FALSE(read_text(kChromeProfile, profile_of(R"("samples":[4],"timeDeltas":[1,2])")).ok());
  EXPECT_FALSE(
      read_text(kChromeProfile, R"({"nodes":[{"id":1,"parent":2},{"id":2,"parent":1}],"samples":[1],"timeDeltas":[1]})")
          .ok());
  EXPECT_FALSE(read_text(kChromeProfile, R"({"nodes":[3],"samples":[],"timeDeltas":[]})").ok());
  const auto profile = read_text(kChromeProfile, profile_of(R"("samples":[4,99],"timeDeltas":[1,2],"endTime":9)"));
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(profile->samples.size(), 1u);
  EXPECT_EQ(profile->quality[model::Reason::malformed_records], 1u);
}

std::string event(std::string_view phase, std::string_view name, int at, std::string_view more = "") {
  return R"({"pid":1,"tid":2,"ph":")" + std::string(phase) + R"(","name":")" + std::string(name) + R"(","ts":)" +
         std::to_string(at) + std::string(more) + "}";
}

base::Result<model::Profile> trace_of(const std::vector<std::string>& events) {
  std::string text = "[";
  for (const std::string& each : events) text += (text.size() > 1 ? "," : "") + each;
  EXPECT_EQ(kChromeTrace.refusal(base::as_bytes(text + "]")), "");
  return read_text(kChromeTrace, text + "]");
}

TEST(ChromeTrace, MakesStacksOfSpans) {
  const auto profile = trace_of({event("B", "a", 0), event("X", "b", 10, R"(,"dur":20)"), event("E", "a", 50),
                                 R"({"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"main"}})",
                                 R"({"ph":"X","pid":3,"tid":"4","name":"c","ts":5,"dur":1})", event("i", "mark", 3)});
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  EXPECT_EQ(rows_of(*profile), (Rows{{"a", 10'000}, {"a;b", 20'000}, {"a", 20'000}, {"c", 1'000}}));
  EXPECT_EQ(profile->samples.time, (std::vector<uint64_t>{0, 10'000, 30'000, 5'000}));
  const model::Thread& first = profile->threads[profile->samples.thread[0]];
  EXPECT_EQ(profile->text(first.comm), "main");
  EXPECT_EQ(first.pid, 1);
  EXPECT_EQ(first.tid, 2);
  EXPECT_EQ(profile->threads[profile->samples.thread[3]].tid, 4);
  EXPECT_EQ(profile->quality, model::Quality());
  EXPECT_TRUE(profile->facts.comments.empty());
}

TEST(ChromeTrace, SortsEventsAndKeepsNestingOfThoseAtOnce) {
  const auto profile = trace_of({event("X", "inner", 5, R"(,"dur":5)"), event("X", "outer", 5, R"(,"dur":9)"),
                                 event("E", "late", 40), event("B", "late", 30)});
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(rows_of(*profile), (Rows{{"outer;inner", 5'000}, {"outer", 4'000}, {"late", 10'000}}));
  EXPECT_EQ(profile->quality[model::Reason::malformed_records], 0u);
  ASSERT_EQ(profile->facts.comments.size(), 1u);
  EXPECT_EQ(profile->facts.comments[0], "1 begins and ends that were not in the order of time, sorted");
}

TEST(ChromeTrace, CountsWhatIsUnbalancedOrOverlaps) {
  const auto profile =
      trace_of({event("E", "nothing", 1), event("B", "a", 10), event("B", "b", 20), event("E", "a", 30),
                event("B", "open", 40), event("X", "x", 50, R"(,"dur":10)"), event("X", "y", 55, R"(,"dur":10)")});
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  EXPECT_EQ(
      rows_of(*profile),
      (Rows{
          {"a", 10'000}, {"a;b", 10'000}, {"open", 10'000}, {"open;x", 5'000}, {"open;x;y", 5'000}, {"open", 5'000}}));
  EXPECT_EQ(profile->quality[model::Reason::malformed_records], 3u);
  const std::vector<std::string> comments{
      "1 ends of spans without a begin, left out",
      "1 begins of spans without an end, taken to last to the end of what they are in",
      "1 spans that had not ended when the trace did, taken to last to the end",
      "1 spans that end after the one they began in, cut there"};
  EXPECT_EQ(profile->facts.comments, comments);
}

TEST(ChromeTrace, DoesNotMindRounding) {
  const auto profile = trace_of({event("X", "a", 10, R"(,"dur":5)"), event("X", "b", 12, R"(,"dur":4)")});
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(rows_of(*profile), (Rows{{"a", 2'000}, {"a;b", 3'000}}));
  EXPECT_EQ(profile->quality, model::Quality());
}

TEST(ChromeTrace, CountsEventsThatCannotBeRead) {
  const auto profile = trace_of({event("X", "no-duration", 1), R"({"ph":"B","name":"no-time"})", event("?", "what", 1),
                                 event("X", "fine", 1, R"(,"dur":2)"), event("X", "back", 1, R"(,"dur":-2)")});
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(rows_of(*profile), (Rows{{"fine", 2'000}}));
  EXPECT_EQ(profile->quality[model::Reason::malformed_records], 3u);
  EXPECT_EQ(profile->quality[model::Reason::unknown_records], 1u);
}

TEST(ChromeTrace, ReadsWhatAProgramThatDiedHasWritten) {
  const std::string text = "[" + event("X", "a", 1, R"(,"dur":2)") + ",\n" + R"({"ph":"X","name":"b","ts":5,"du)";
  const auto profile = read_text(kChromeTrace, text);
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  EXPECT_EQ(rows_of(*profile), (Rows{{"a", 2'000}}));
  EXPECT_EQ(profile->quality[model::Reason::file_truncated], 1u);
}

TEST(ChromeTrace, ReadsSamplesOfV8InChunks) {
  const auto profile = read_text(kChromeTrace, R"json({"traceEvents":[
    {"ph":"P","name":"Profile","id":"0x1","pid":1,"tid":2,"ts":1,"args":{"data":{"startTime":100}}},
    {"ph":"P","name":"ProfileChunk","id":"0x1","pid":1,"tid":9,"ts":2,"args":{"data":{"cpuProfile":{
      "nodes":[{"id":1,"callFrame":{"functionName":"(root)"}},{"id":2,"parent":1,"callFrame":{"functionName":"a"}}],
      "samples":[2,2]},"timeDeltas":[5,5]}}},
    {"ph":"P","name":"ProfileChunk","id":"0x1","pid":1,"tid":9,"ts":3,"args":{"data":{"cpuProfile":{
      "nodes":[{"id":3,"parent":2,"callFrame":{"functionName":"b"}}],"samples":[3]},
      "timeDeltas":[7],"endTime":120}}}]})json");
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  EXPECT_EQ(rows_of(*profile), (Rows{{"a", 5'000}, {"a", 7'000}, {"a;b", 3'000}}));
  EXPECT_EQ(profile->threads[profile->samples.thread[0]].tid, 2);
  EXPECT_EQ(profile->facts.default_event, "wall-clock");
  EXPECT_EQ(profile->samples.time, (std::vector<uint64_t>{105'000, 110'000, 117'000}));
}

// The time in which any span is open is what the rows add up to, in whatever order spans come. Those of powers of two
// at multiples of themselves never overlap in part.
TEST(ChromeTrace, KeepsTheTimeThatSpansCover) {
  for (unsigned seed = 1; seed < 60; ++seed) {
    unsigned state = seed * 747796405u + 1;
    const auto random = [&](unsigned below) { return (state = state * 1664525u + 1013904223u) / 65536 % below; };
    std::vector<std::string> events;
    std::vector<bool> covered(1024);
    for (int i = 0; i < 30; ++i) {
      const unsigned length = 1u << random(9);
      const unsigned begin = random(1024 / length) * length;
      events.push_back(
          event("X", "n" + std::to_string(random(4)), static_cast<int>(begin), R"(,"dur":)" + std::to_string(length)));
      std::fill_n(covered.begin() + begin, length, true);
    }
    const auto profile = trace_of(events);
    ASSERT_TRUE(profile.ok());
    EXPECT_EQ(model::totals(*profile).value,
              static_cast<uint64_t>(std::count(covered.begin(), covered.end(), true)) * 1000);
    EXPECT_EQ(profile->quality, model::Quality());
  }
}

}  // namespace
}  // namespace tephra::formats
