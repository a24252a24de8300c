#include "formats/speedscope.h"

#include <gtest/gtest.h>

#include "formats/json_profiles_for_tests.h"

namespace tephra::formats {
namespace {

std::string file_of(std::string_view profiles) {
  return R"({"$schema":"https://www.speedscope.app/file-format-schema.json",
    "shared":{"frames":[{"name":"a"},{"name":"b","file":"b.js","line":7,"col":3}]},"profiles":[)" +
         std::string(profiles) + "]}";
}

std::string sampled(std::string_view unit, std::string_view samples, std::string_view weights) {
  return file_of(R"({"type":"sampled","name":"x","startValue":0,"endValue":9,"unit":")" + std::string(unit) +
                 R"(","samples":)" + std::string(samples) + R"(,"weights":)" + std::string(weights) + "}");
}

std::string evented(std::string_view events) {
  return file_of(R"({"type":"evented","name":"x","startValue":0,"endValue":9,"unit":"milliseconds","events":)" +
                 std::string(events) + "}");
}

TEST(Speedscope, ReadsSamplesInOrder) {
  const auto profile = read_text(kSpeedscope, sampled("seconds", "[[0,1],[0],[0,1]]", "[1,0.25,2]"));
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  const std::vector<std::pair<std::string, uint64_t>> expected{
      {"a;b", 1'000'000'000}, {"a", 250'000'000}, {"a;b", 2'000'000'000}};
  EXPECT_EQ(rows_of(*profile), expected);
  EXPECT_EQ(profile->samples.time, (std::vector<uint64_t>{0, 1'000'000'000, 1'250'000'000}));
  const model::Event& event = profile->events[profile->samples.event[0]];
  EXPECT_EQ(profile->text(event.name), "time");
  EXPECT_EQ(profile->text(event.unit), "ns");
  EXPECT_EQ(profile->text(profile->threads[profile->samples.thread[0]].comm), "x");
  const model::Frame& frame = profile->frames[profile->stacks[profile->samples.stack[0]].frame];
  EXPECT_EQ(profile->text(frame.file), "b.js");
  EXPECT_EQ(profile->functions[frame.function].start_line, 7u);
}

TEST(Speedscope, KnowsItsUnits) {
  for (const auto& [unit, value] : std::map<std::string, uint64_t>{{"none", 3},
                                                                   {"nanoseconds", 3},
                                                                   {"microseconds", 3'000},
                                                                   {"milliseconds", 3'000'000},
                                                                   {"seconds", 3'000'000'000},
                                                                   {"bytes", 3}}) {
    const auto profile = read_text(kSpeedscope, sampled(unit, "[[0]]", "[3]"));
    ASSERT_TRUE(profile.ok()) << unit;
    EXPECT_EQ(model::totals(*profile).value, value) << unit;
    EXPECT_EQ(model::totals(*profile).count, unit == "none" ? 3u : 1u) << unit;
  }
  EXPECT_FALSE(read_text(kSpeedscope, sampled("parsecs", "[[0]]", "[3]")).ok());
}

TEST(Speedscope, DoesNotTakeAStandInForAName) {
  const auto profile =
      read_text(kSpeedscope, R"({"$schema":"speedscope","shared":{"frames":[{"name":"[unknown] x.so+0x10"},
      {"name":"f"}]},"profiles":[{"type":"sampled","name":"x","unit":"none","startValue":0,"endValue":1,
      "samples":[[0,1]],"weights":[1]}]})");
  ASSERT_TRUE(profile.ok());
  const model::Stack leaf = profile->stacks[profile->samples.stack[0]];
  EXPECT_TRUE(profile->functions[profile->frames[leaf.frame].function].named);
  const model::FrameId outer = profile->stacks[leaf.parent].frame;
  EXPECT_FALSE(profile->functions[profile->frames[outer].function].named);
}

TEST(Speedscope, CountsFractionsThatItDrops) {
  const auto profile = read_text(kSpeedscope, sampled("none", "[[0],[1]]", "[2.5,1]"));
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(model::totals(*profile).value, 3u);
  EXPECT_EQ(profile->quality[model::Reason::fractions_dropped], 1u);
}

TEST(Speedscope, GivesTheTimeBetweenEventsToTheInnermostFrame) {
  const auto profile = read_text(kSpeedscope, evented(R"([{"type":"O","frame":0,"at":1},{"type":"O","frame":1,"at":3},
      {"type":"C","frame":1,"at":3.5},{"type":"C","frame":0,"at":5},{"type":"O","frame":1,"at":7},
      {"type":"C","frame":1,"at":8}])"));
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  const std::vector<std::pair<std::string, uint64_t>> expected{
      {"a", 2'000'000}, {"a;b", 500'000}, {"a", 1'500'000}, {"b", 1'000'000}};
  EXPECT_EQ(rows_of(*profile), expected);
  EXPECT_EQ(profile->samples.time.back(), 7'000'000u);
}

TEST(Speedscope, RefusesInvalidFilesAndSaysWhy) {
  const std::map<std::string, std::string> files{
      {evented(R"([{"type":"O","frame":0,"at":2},{"type":"C","frame":0,"at":1}])"), "out of order"},
      {evented(R"([{"type":"O","frame":0,"at":1},{"type":"C","frame":1,"at":2}])"), "not the innermost"},
      {evented(R"([{"type":"C","frame":1,"at":2}])"), "not the innermost"},
      {evented(R"([{"type":"O","frame":0,"at":1}])"), "open"},
      {evented(R"([{"type":"X","frame":0,"at":1}])"), "unknown type"},
      {evented(R"([{"type":"O","frame":2,"at":1}])"), "a frame that is not there"},
      {sampled("none", "[[0],[1]]", "[1]"), "2 samples and 1 weights"},
      {sampled("none", "[[0]]", "[-1]"), "from zero on"},
      {sampled("none", "[[0]]", "[\"1\"]"), "from zero on"},
      {sampled("none", "[[2]]", "[1]"), "a frame that is not there"},
      {file_of(R"({"type":"other","unit":"none","startValue":0})"), "unknown type"},
      {R"({"$schema":"speedscope","shared":{"frames":[{}]},"profiles":[]})", "no name"},
      {R"({"$schema":"speedscope"})", "no list of profiles"},
      {"{", "malformed"},
  };
  for (const auto& [text, why] : files) {
    const auto profile = read_text(kSpeedscope, text);
    ASSERT_FALSE(profile.ok()) << text;
    EXPECT_NE(profile.error().why.find(why), std::string::npos) << profile.error().why;
  }
}

TEST(Speedscope, KeepsHowLongWasRecordedAndInventsNothing) {
  model::Profile profile = made_up_profile(1, true);
  const auto duration_again = [&] {
    const auto text = kSpeedscope.write(profile);
    return text.ok() ? read_text(kSpeedscope, *text).value().facts.duration_ns : -1;
  };
  profile.facts.first_time = profile.facts.last_time = 0;
  profile.facts.duration_ns = 0;
  EXPECT_EQ(duration_again(), 0);
  profile.facts.first_time = 1'000;
  profile.facts.last_time = 5'000;
  EXPECT_EQ(duration_again(), 4'000);
  profile.facts.duration_ns = 9'000;
  EXPECT_EQ(duration_again(), 9'000);
}

TEST(Speedscope, KeepsSumsThreadsEventsAndComments) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const model::Profile profile = made_up_profile(seed, seed % 2 == 0);
    const auto text = kSpeedscope.write(profile);
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(kSpeedscope.refusal(base::as_bytes(*text)), "");
    const auto again = read_text(kSpeedscope, *text);
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_EQ(sums(*again), sums(profile));
    EXPECT_EQ(again->facts.comments, profile.facts.comments);
    EXPECT_EQ(again->quality, model::Quality());
    for (const model::Event& event : profile.events) {
      EXPECT_TRUE(std::any_of(again->events.begin(), again->events.end(), [&](const model::Event& other) {
        return again->text(other.name) == profile.text(event.name) &&
               again->text(other.unit) == profile.text(event.unit) &&
               again->text(other.counted) == profile.text(event.counted);
      })) << profile.text(event.name);
    }
    const auto twice = kSpeedscope.write(*again);
    ASSERT_TRUE(twice.ok());
    EXPECT_EQ(sums(*read_text(kSpeedscope, *twice)), sums(profile));
  }
}

TEST(Speedscope, WritesSamplesInTheOrderOfTime) {
  model::ProfileAssembler assembler;
  const auto event = assembler.event({assembler.string("cpu-clock"), assembler.string("ns")});
  const auto thread = assembler.thread({1, 1, assembler.string("x")});
  for (const uint64_t time : {30u, 10u, 20u}) {
    const auto function = assembler.function({.name = assembler.string("at" + std::to_string(time)), .named = true});
    const auto stack = assembler.stack({}, assembler.frame({.function = function}));
    assembler.sample({.stack = stack, .event = event, .thread = thread, .value = 5, .time = time});
  }
  const auto text = kSpeedscope.write(std::move(assembler).finish());
  ASSERT_TRUE(text.ok());
  const auto again = read_text(kSpeedscope, *text);
  ASSERT_TRUE(again.ok());
  const std::vector<std::pair<std::string, uint64_t>> expected{{"at10", 5}, {"at20", 5}, {"at30", 5}};
  EXPECT_EQ(rows_of(*again), expected);
}

TEST(SpeedscopeFixtures, EveryFileIsReadOrRefusedAsSpeedscopeDoes) {
  const auto folder = json_fixtures("speedscope") / "jlfwong-speedscope";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no fixtures: set TEPHRA_FIXTURES";
  // Sums as drawn in the comment of speedscope's own example: a above b above c, d, c and nothing.
  const auto evented = read_path(kSpeedscope, folder / "0.0.1/simple.speedscope.json");
  ASSERT_TRUE(evented.ok()) << evented.error().message();
  const std::vector<std::pair<std::string, uint64_t>> simple{{"a;b;c", 2}, {"a;b;d", 4}, {"a;b;c", 3}, {"a;b", 5}};
  EXPECT_EQ(rows_of(*evented), simple);
  const auto sampled = read_path(kSpeedscope, folder / "0.1.2/simple-sampled.speedscope.json");
  ASSERT_TRUE(sampled.ok()) << sampled.error().message();
  EXPECT_EQ(model::totals(*sampled), (model::Totals{5, 14'000'000'000}));
  const auto two = read_path(kSpeedscope, folder / "0.6.0/two-sampled.speedscope.json");
  ASSERT_TRUE(two.ok()) << two.error().message();
  EXPECT_EQ(model::totals(*two), (model::Totals{10, 28'000'000'000}));
  EXPECT_EQ(two->threads.size(), 2u);
  const auto invalid = read_path(kSpeedscope, folder / "invalid/out-of-order-events.json");
  ASSERT_FALSE(invalid.ok());
  EXPECT_NE(invalid.error().why.find("out of order"), std::string::npos);
}

}  // namespace
}  // namespace tephra::formats
