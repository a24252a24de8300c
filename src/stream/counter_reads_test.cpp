#include "stream/counter_reads.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "stream/profile_builder.h"
#include "stream/recording_for_tests.h"

namespace tephra::stream {
namespace {

constexpr uint64_t kGroup = PERF_FORMAT_GROUP | PERF_FORMAT_ID;

// A group of two events whose leader samples for both; their ids are 100 and 101.
TestRecording group_of_two(uint64_t read_format = kGroup) {
  TestRecording test(TestRecording::kUsual | PERF_SAMPLE_READ);
  test.event("page-faults", TestRecording::kUsual | PERF_SAMPLE_READ);
  for (size_t i = 0; i < 2; ++i) test.layout(i).read_format = read_format;
  return test;
}

// "event period" of every sample in time order.
std::vector<std::string> samples_of(const Recording& recording) {
  std::vector<std::string> texts;
  for_each_sample(recording, {}, [&](const Sample& sample) {
    texts.push_back(fmt::format("{} {}", recording.events[sample.origin.event].name, sample.period));
  });
  return texts;
}
using Texts = std::vector<std::string>;

TEST(CounterReads, ASampleStandsForEveryCounterThatMoved) {
  TestRecording test = group_of_two();
  test.sample({.time = 1, .ip = 1, .read = {2, 1000, 100, 5, 101}});
  test.sample({.time = 2, .ip = 1, .read = {2, 1900, 100, 5, 101}});
  test.sample({.time = 3, .ip = 1, .read = {2, 3000, 100, 12, 101}});
  EXPECT_EQ(samples_of(test.recording()),
            (Texts{"cpu-clock 1000", "page-faults 5", "cpu-clock 900", "cpu-clock 1100", "page-faults 7"}));
  for (const bool every : {false, true}) {
    const auto profile = build_profile(test.recording(), {.keep_every_sample = every});
    EXPECT_EQ(model::totals(profile, model::EventId{0}), (model::Totals{3, 3000}));
    EXPECT_EQ(model::totals(profile, model::EventId{1}), (model::Totals{2, 12}));
    const auto faults = build_profile(test.recording(), {.filter = {.events = {"page-faults"}}});
    EXPECT_EQ(model::totals(faults), (model::Totals{2, 12}));
  }
}

// Rings are written one after the other, so a file is not in the order of time.
TEST(CounterReads, DifferencesAreInTheOrderOfTime) {
  TestRecording test = group_of_two();
  test.sample({.time = 5, .ip = 1, .read = {1, 700, 100}});
  test.sample({.time = 2, .ip = 1, .read = {1, 300, 100}});
  EXPECT_EQ(samples_of(test.recording()), (Texts{"cpu-clock 300", "cpu-clock 400"}));
}

// A file that goes on where another ended: what was counted before it is not of this one.
TEST(CounterReads, CountersThatRanBeforeTheFileBeginWithTheirFirstValue) {
  TestRecording test = group_of_two();
  test.sample({.time = 1, .ip = 1, .read = {2, 5000, 100, 70, 101}});
  test.sample({.time = 2, .ip = 1, .read = {2, 6000, 100, 75, 101}});
  Recording recording = test.recording();
  recording.recorder.emplace().counters_run_on = 1;
  EXPECT_EQ(samples_of(recording), (Texts{"cpu-clock 1000", "page-faults 5"}));
}

TEST(CounterReads, OneCounterIsReadLikewise) {
  TestRecording test = group_of_two(PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_LOST);
  test.sample({.time = 1, .ip = 1, .read = {50, 9, 100, 0}});
  test.sample({.time = 2, .ip = 1, .event = 1, .read = {8, 9, 101, 0}});
  test.sample({.time = 3, .ip = 1, .read = {90, 9, 100, 0}});
  EXPECT_EQ(samples_of(test.recording()), (Texts{"cpu-clock 50", "page-faults 8", "cpu-clock 40"}));
}

TEST(CounterReads, ThreadsThatInheritHaveTheirOwnValues) {
  TestRecording test = group_of_two();
  test.layout(0).inherit = true;
  test.sample({.time = 1, .tid = 1, .ip = 1, .read = {1, 500, 100}});
  test.sample({.time = 2, .tid = 2, .ip = 1, .read = {1, 40, 100}});
  test.sample({.time = 3, .tid = 1, .ip = 1, .read = {1, 700, 100}});
  test.sample({.time = 4, .tid = 2, .ip = 1, .read = {1, 70, 100}});
  EXPECT_EQ(samples_of(test.recording()), (Texts{"cpu-clock 500", "cpu-clock 40", "cpu-clock 200", "cpu-clock 30"}));
}

TEST(CounterReads, ValuesWithoutIdsLeaveSamplesAsTheyAre) {
  TestRecording test = group_of_two(PERF_FORMAT_GROUP);
  test.sample({.time = 1, .ip = 1, .period = 77, .read = {2, 1000, 5}});
  EXPECT_EQ(samples_of(test.recording()), (Texts{"cpu-clock 77"}));
}

TEST(CounterReads, UnknownAndFallingCountersAreNotMadeUp) {
  TestRecording test = group_of_two();
  test.sample({.time = 1, .ip = 1, .read = {2, 1000, 100, 5, 999}});
  test.sample({.time = 2, .ip = 1, .read = {1, 400, 100}});
  test.sample({.time = 3, .ip = 1, .read = {1, 450, 100}});
  EXPECT_EQ(samples_of(test.recording()), (Texts{"cpu-clock 1000", "cpu-clock 50"}));
  EXPECT_EQ(build_profile(test.recording(), {}).quality[model::Reason::unknown_event], 1u);
}

TEST(CounterReads, AGroupLargerThanItsRecordIsMalformed) {
  TestRecording test = group_of_two();
  test.sample({.time = 1, .ip = 1, .read = {UINT64_MAX, 1000, 100}});
  test.sample({.time = 1, .ip = 1, .read = {UINT64_MAX / 8, 1000, 100}});
  EXPECT_TRUE(samples_of(test.recording()).empty());
  EXPECT_EQ(build_profile(test.recording(), {}).quality[model::Reason::malformed_records], 2u);
}

}  // namespace
}  // namespace tephra::stream
