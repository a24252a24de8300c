#include "analysis/wall.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "model/profile_assembler.h"

namespace tephra::analysis {
namespace {

const WallEvents kEvents{"cpu-clock", "run-time", "offcpu-time"};

class WallTest : public testing::Test {
 protected:
  void add(const char* event, int tid, const char* function, uint64_t value) {
    model::ProfileAssembler::Sample sample;
    sample.event = rows_.event({rows_.string(event), rows_.string("ns"), {}, false});
    sample.thread = rows_.thread({1, tid, rows_.string("program"), false});
    sample.value = value;
    if (function != nullptr) {
      model::Function row;
      row.name = rows_.string(function);
      row.named = true;
      model::Frame frame;
      frame.function = rows_.function(row);
      sample.stack = rows_.stack({}, rows_.frame(frame));
    }
    rows_.sample(sample);
  }

  // Nanoseconds of the wall-clock event by thread and function.
  static std::map<std::pair<int, std::string>, uint64_t> wall(const model::Profile& profile) {
    std::map<std::pair<int, std::string>, uint64_t> sums;
    for (size_t row = 0; row < profile.samples.size(); ++row) {
      if (profile.text(profile.events[profile.samples.event[row]].name) != kWallEvent) continue;
      const model::FrameId frame = profile.stacks[profile.samples.stack[row]].frame;
      sums[{profile.threads[profile.samples.thread[row]].tid, std::string(profile.function_name(frame))}] +=
          profile.samples.value[row];
    }
    return sums;
  }

  model::ProfileAssembler rows_;
};

TEST_F(WallTest, ScalesSamplesToWhatAThreadRan) {
  add("cpu-clock", 7, "a", 10);
  add("cpu-clock", 7, "b", 20);
  add("run-time", 7, nullptr, 600);
  add("run-time", 7, nullptr, 401);
  add("offcpu-time", 7, "wait", 5000);
  model::Profile profile = std::move(rows_).finish();
  const auto totals = add_wall_clock(profile, kEvents);
  ASSERT_TRUE(totals);
  EXPECT_EQ(totals->running_ns, 1001u);
  EXPECT_EQ(totals->waiting_ns, 5000u);
  EXPECT_EQ(totals->not_sampled_ns, 0u);
  EXPECT_EQ(totals->threads, 1u);
  const auto sums = wall(profile);
  EXPECT_EQ(sums,
            (std::map<std::pair<int, std::string>, uint64_t>{{{7, "a"}, 333}, {{7, "b"}, 668}, {{7, "wait"}, 5000}}));
}

TEST_F(WallTest, TellsRunningThatNoSampleHit) {
  add("cpu-clock", 7, "a", 10);
  add("run-time", 7, nullptr, 100);
  add("run-time", 8, nullptr, 42);
  model::Profile profile = std::move(rows_).finish();
  const auto totals = add_wall_clock(profile, kEvents);
  ASSERT_TRUE(totals);
  EXPECT_EQ(totals->not_sampled_ns, 42u);
  EXPECT_EQ(wall(profile), (std::map<std::pair<int, std::string>, uint64_t>{
                               {{7, "a"}, 100}, {{8, std::string(kRunningNotSampled)}, 42}}));
}

// Samples without a time that they could be part of are no time.
TEST_F(WallTest, SamplesOfThreadsThatWereNotTimedAreLeftOut) {
  add("cpu-clock", 9, "a", 10);
  add("offcpu-time", 7, "wait", 5);
  model::Profile profile = std::move(rows_).finish();
  ASSERT_TRUE(add_wall_clock(profile, kEvents));
  EXPECT_EQ(wall(profile), (std::map<std::pair<int, std::string>, uint64_t>{{{7, "wait"}, 5}}));
}

TEST_F(WallTest, KeepsOnlyTheNewEvent) {
  add("cpu-clock", 7, "a", 10);
  add("run-time", 7, nullptr, 100);
  model::Profile profile = std::move(rows_).finish();
  ASSERT_TRUE(add_wall_clock(profile, kEvents));
  keep_wall_clock(profile);
  EXPECT_EQ(profile.samples.size(), 1u);
  EXPECT_EQ(model::totals(profile).value, 100u);
}

TEST_F(WallTest, OtherProfilesStayAsTheyAre) {
  add("cpu-clock", 7, "a", 10);
  model::Profile profile = std::move(rows_).finish();
  EXPECT_FALSE(add_wall_clock(profile, kEvents));
  EXPECT_EQ(profile.samples.size(), 1u);
}

TEST_F(WallTest, FindsWhatARecordingOfAllTimeIsMadeOf) {
  add("minor-faults", 7, "a", 1);
  add("cycles:u", 7, "a", 10);
  add("run-time", 7, nullptr, 600);
  add("offcpu-time", 7, "wait", 5000);
  model::Profile profile = std::move(rows_).finish();
  const auto events = wall_events(profile);
  ASSERT_TRUE(events);
  EXPECT_EQ(events->cpu, "cycles:u");
  ASSERT_TRUE(add_wall_clock(profile, *events));
  EXPECT_EQ(profile.facts.default_event, kWallEvent);
  EXPECT_FALSE(wall_events(profile)) << "it is added once";
  EXPECT_TRUE(has_more_than_wall_clock(profile));
  EXPECT_EQ(without_wall_clock(profile).samples.size(), 4u);
  keep_wall_clock(profile);
  EXPECT_FALSE(has_more_than_wall_clock(profile));
  EXPECT_EQ(model::totals(profile).value, 5600u);
}

TEST_F(WallTest, WaitsAloneAreNoWallClockTime) {
  add("cycles", 7, "a", 10);
  add("offcpu-time", 7, "wait", 5000);
  EXPECT_FALSE(wall_events(std::move(rows_).finish()));
}

TEST_F(WallTest, OtherEventsDoNotSayWhereThreadsRan) {
  add("sched:sched_switch", 7, "a", 10);
  add("context-switches", 7, "a", 10);
  add("run-time", 7, nullptr, 600);
  add("offcpu-time", 7, "wait", 5000);
  const auto events = wall_events(std::move(rows_).finish());
  ASSERT_TRUE(events);
  EXPECT_EQ(events->cpu, "");
}

}  // namespace
}  // namespace tephra::analysis
