#include "stream/switch_reading.h"

#include <gtest/gtest.h>

#include <map>

#include "model/reading_notes.h"
#include "stream/profile_builder.h"
#include "stream/switches_for_tests.h"
#include "stream/wait_states.h"

namespace tephra::stream {
namespace {

using Switches = TestSwitches;

Recording read(const Switches& switches) {
  Recording recording = switches.recording();
  EXPECT_TRUE(add_readings(recording, {}).ok());
  return recording;
}

// Nanoseconds of waiting by thread and state.
std::map<std::pair<int32_t, std::string>, uint64_t> waits_of(const model::Profile& profile) {
  std::map<std::pair<int32_t, std::string>, uint64_t> waits;
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    if (profile.text(profile.events[profile.samples.event[i]].name) != kWaitEvent) continue;
    std::map<std::string_view, std::string_view> labels;
    for (const model::Label& label : profile.label_sets[profile.samples.labels[i]].labels) {
      labels[profile.text(label.key)] = profile.text(label.text);
    }
    EXPECT_EQ(labels.size(), 2u);
    EXPECT_EQ(labels[kExtentLabel], kSingleWait);
    waits[{profile.threads[profile.samples.thread[i]].tid, std::string(labels[kStateLabel])}] +=
        profile.samples.value[i];
  }
  return waits;
}

using Waits = std::map<std::pair<int32_t, std::string>, uint64_t>;

Switches two_threads() {
  return std::move(Switches()
                       .from_to(1000, 7, 1, 8)
                       .from_to(1500, 8, 0, 7)
                       .from_to(2000, 7, 2, 8)
                       .from_to(2100, 8, 1, 0)
                       .from_to(2600, 0, 0, 7)
                       .from_to(3000, 7, 1, 0));
}

const Waits kTwoThreads{
    {{7, "sleeping"}, 500}, {{7, "uninterruptible"}, 600}, {{8, "run queue"}, 500}, {{8, "sleeping"}, 900}};

TEST(SwitchReadingTest, WaitsByStateInEveryWayOfReading) {
  const Switches switches = two_threads();
  const Recording recording = read(switches);
  EXPECT_EQ(waits_of(build_profile(recording, {})), kTwoThreads);
  const auto every = build_profile(recording, {.keep_every_sample = true});
  EXPECT_EQ(waits_of(every), kTwoThreads);
  EXPECT_EQ(every.samples.time.front(), 1000u);
}

TEST(SwitchReadingTest, TheSwitchesThemselvesAreStillCounted) {
  const Switches switches = two_threads();
  const auto profile = build_profile(read(switches), {.filter = {.events = {"sched:sched_switch"}}});
  EXPECT_EQ(model::totals(profile), (model::Totals{6, 6}));
  EXPECT_TRUE(waits_of(profile).empty());
}

TEST(SwitchReadingTest, TheFilterTakesWaitsByTheirName) {
  const Switches switches = two_threads();
  const auto profile = build_profile(read(switches), {.filter = {.tids = {7}, .events = {"offcpu-time"}}});
  EXPECT_EQ(waits_of(profile), (Waits{{{7, "sleeping"}, 500}, {{7, "uninterruptible"}, 600}}));
  EXPECT_EQ(profile.samples.size(), 2u);
  EXPECT_EQ(profile.text(profile.events[profile.samples.event[0]].unit), "ns");
}

TEST(SwitchReadingTest, StacksKeepRowsApart) {
  const Switches switches = std::move(Switches()
                                          .from_to(1000, 7, 1, 0, 0x1000)
                                          .from_to(1100, 0, 0, 7)
                                          .from_to(1200, 7, 1, 0, 0x2000)
                                          .from_to(1250, 0, 0, 7)
                                          .from_to(1300, 7, 1, 0, 0x1000)
                                          .from_to(1301, 0, 0, 7));
  const auto profile = build_profile(read(switches), {.filter = {.events = {"offcpu-time"}}});
  ASSERT_EQ(profile.samples.size(), 2u);
  EXPECT_EQ(profile.samples.value, (std::vector<uint64_t>{101, 50}));
  EXPECT_EQ(profile.samples.count, (std::vector<uint64_t>{2, 1}));
}

TEST(SwitchReadingTest, WakeupsSplitWaits) {
  const Switches switches = std::move(Switches(true).from_to(1000, 7, 1, 0).wake(1300, 7).from_to(1350, 0, 0, 7));
  EXPECT_EQ(waits_of(build_profile(read(switches), {})), (Waits{{{7, "sleeping"}, 300}, {{7, "run queue"}, 50}}));
}

TEST(SwitchReadingTest, TellsWhatIsNotWhole) {
  const Switches switches = two_threads();
  const Recording recording = read(switches);
  ASSERT_EQ(model::reading_notes(recording.facts).size(), 1u);
  EXPECT_EQ(model::reading_notes(recording.facts)[0].event, "offcpu-time");
  // That of 8 until 3000, and that of 7 which begins there.
  EXPECT_EQ(model::reading_notes(recording.facts)[0].text, "2 waits not over at the end, counted up to it (900 ns)");
}

TEST(SwitchReadingTest, LossesBetweenTheRecordsOfACpu) {
  Switches switches = std::move(Switches().from_to(1000, 7, 1, 0).from_to(1100, 0, 0, 7).from_to(1200, 7, 1, 0));
  switches.test().lost(1400, 12);
  switches.from_to(1500, 0, 0, 7).from_to(1600, 7, 1, 0).from_to(1700, 0, 0, 7);
  const Recording recording = read(switches);
  EXPECT_EQ(waits_of(build_profile(recording, {})), (Waits{{{7, "sleeping"}, 200}}));
  ASSERT_EQ(model::reading_notes(recording.facts).size(), 1u);
  EXPECT_EQ(model::reading_notes(recording.facts)[0].text, "1 wait across lost records left out (300 ns)");
}

TEST(SwitchReadingTest, SampledSwitchesAreNoWaits) {
  Switches switches = two_threads();
  switches.test().layout().sample_period_or_frequency = 100;
  EXPECT_TRUE(waits_of(build_profile(read(switches), {})).empty());
}

TEST(SwitchReadingTest, SamplesOfUnknownIdsAreStillThoseOfTheOnlyEvent) {
  Switches switches = two_threads();
  switches.test().events()[0].ids = {77};  // the records carry 100
  TestRecording& test = switches.test();
  std::string& data = test.data();
  ASSERT_FALSE(data.empty());
  const Recording recording = read(switches);
  EXPECT_EQ(model::totals(build_profile(recording, {.filter = {.events = {"sched:sched_switch"}}})).count, 6u);
}

}  // namespace
}  // namespace tephra::stream
