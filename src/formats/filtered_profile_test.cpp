#include "formats/filtered_profile.h"

#include <gtest/gtest.h>

#include "model/profile_assembler.h"
#include "stream/converted_facts.h"
#include "stream/recording_for_tests.h"

namespace tephra::formats {
namespace {

using stream::SampleFilter;

// Four samples of two threads and two events, of 1, 2, 4 and 8 units.
model::Profile profile(bool with_time_and_cpu, bool with_ids = true) {
  model::ProfileAssembler to;
  const auto cycles = to.event({to.string("cycles"), to.string("count")});
  const auto faults = to.event({to.string("faults"), to.string("count")});
  const auto first = to.thread(with_ids ? model::Thread{1, 10, to.string("first")} : model::Thread{});
  const auto second = to.thread(with_ids ? model::Thread{2, 20, to.string("second")} : model::Thread{});
  for (int i = 0; i < 4; ++i) {
    model::ProfileAssembler::Sample sample{
        .event = i % 2 == 0 ? cycles : faults, .thread = i < 2 ? first : second, .value = uint64_t{1} << i};
    if (with_time_and_cpu) {
      sample.time = 100 + i;
      sample.cpu = i;
    }
    to.sample(sample);
  }
  return std::move(to).finish();
}

uint64_t taken(const SampleFilter& filter) {
  const auto kept = filtered(profile(true), filter);
  EXPECT_TRUE(kept.ok());
  EXPECT_EQ(kept->samples.time.size(), kept->samples.size());
  EXPECT_EQ(kept->samples.cpu.size(), kept->samples.size());
  return model::totals(*kept).value;
}

// Two pairs of a count and a value.
model::Profile heap(std::string_view counted, std::string_view other_counted) {
  model::ProfileAssembler to;
  const auto inuse = to.event({to.string("inuse_space"), to.string("bytes"), to.string(counted)});
  const auto alloc = to.event({to.string("alloc_space"), to.string("bytes"), to.string(other_counted)});
  const auto thread = to.thread({});
  to.sample({.stack = {}, .event = inuse, .thread = thread, .count = 3, .value = 1000});
  to.sample({.stack = {}, .event = alloc, .thread = thread, .count = 7, .value = 2000});
  return std::move(to).finish();
}

TEST(FilteredProfile, TheNameOfACountTakesItsEventWeighedByCount) {
  const auto taken_of = [](const model::Profile& profile, const char* event) {
    return model::totals(filtered(profile, {.events = {event}}).value());
  };
  const model::Profile profile = heap("inuse_objects", "alloc_objects");
  EXPECT_EQ(taken_of(profile, "inuse_space"), (model::Totals{3, 1000}));
  EXPECT_EQ(taken_of(profile, "inuse_objects"), (model::Totals{3, 3}));
  EXPECT_EQ(taken_of(profile, "alloc_objects"), (model::Totals{7, 7}));
  EXPECT_EQ(taken_of(profile, "samples"), model::Totals{});
  EXPECT_EQ(taken_of(heap("", "alloc_objects"), "samples"), (model::Totals{3, 3}));
  // Nobody can say of which event.
  EXPECT_EQ(taken_of(heap("objects", "objects"), "objects"), model::Totals{});
  EXPECT_EQ(taken_of(heap("alloc_space", ""), "alloc_space"), (model::Totals{7, 2000}));
  const auto kept = filtered(profile, {.events = {"alloc_objects"}});
  const model::Event& event = kept->events[kept->samples.event[0]];
  EXPECT_EQ(kept->text(event.name), "alloc_objects");
  EXPECT_EQ(kept->text(event.unit), "count");
}

TEST(FilteredProfile, EveryFilterTakesItsOwn) {
  EXPECT_EQ(taken({}), 15u);
  EXPECT_EQ(taken({.pids = {2}}), 12u);
  EXPECT_EQ(taken({.tids = {10}}), 3u);
  EXPECT_EQ(taken({.cpus = {0, 3}}), 9u);
  EXPECT_EQ(taken({.comms = {"second"}}), 12u);
  EXPECT_EQ(taken({.events = {"faults"}}), 10u);
  EXPECT_EQ(taken({.begin_time = 101, .end_time = 102}), 6u);
  EXPECT_EQ(taken({.pids = {1}, .events = {"faults"}}), 2u);
  EXPECT_EQ(taken({.pids = {3}}), 0u);
}

// One sample each: `comm` of process `pid`, by an event.
uint64_t idle_of(std::string_view comm, int32_t pid, std::string_view event, bool keep_idle) {
  model::ProfileAssembler to;
  to.sample({.event = to.event({to.string(event), to.string("count")}),
             .thread = to.thread({pid, pid, to.string(comm)}),
             .count = 3,
             .value = 3});
  const auto kept = filtered(std::move(to).finish(), {.keep_idle = keep_idle});
  EXPECT_TRUE(kept.ok());
  EXPECT_EQ(model::totals(*kept).count + kept->quality.idle, 3u);
  return kept->quality.idle;
}

TEST(FilteredProfile, TimeOfTheIdleTaskIsCountedAndLeftOut) {
  EXPECT_EQ(idle_of("swapper", 0, "cycles:ppp", false), 3u);
  EXPECT_EQ(idle_of("swapper/3", 0, "cpu-clock", false), 3u);
  EXPECT_EQ(idle_of("swapper", -1, "cpu-clock", false), 3u);
  EXPECT_EQ(idle_of("swapper", 0, "cpu-clock", true), 0u);
  EXPECT_EQ(idle_of("swapper", 0, "sched:sched_switch", false), 0u);
  EXPECT_EQ(idle_of("swapper", 17, "cpu-clock", false), 0u);
  EXPECT_EQ(idle_of("server", 0, "cpu-clock", false), 0u);
}

TEST(FilteredProfile, APartHasItsShareOfWhatWasMissing) {
  model::Profile whole = profile(true);
  whole.quality[model::Reason::file_unproven] = 100;
  whole.quality[model::Reason::file_truncated] = 1;
  EXPECT_EQ(filtered(whole, {})->quality, whole.quality);
  const auto part = filtered(whole, {.cpus = {3}});
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->quality[model::Reason::file_unproven], 25u);
  EXPECT_EQ(part->quality[model::Reason::file_truncated], 1u);
}

TEST(FilteredProfile, WhatTheProfileDoesNotSayCannotBeAskedFor) {
  EXPECT_FALSE(filtered(profile(false), {.cpus = {0}}).ok());
  EXPECT_FALSE(filtered(profile(false), {.begin_time = 1}).ok());
  EXPECT_FALSE(filtered(profile(true, false), {.pids = {1}}).ok());
  EXPECT_FALSE(filtered(profile(true, false), {.tids = {1}}).ok());
  const auto refused = filtered(profile(false), {.cpus = {0}});
  EXPECT_EQ(refused.error().why, "it does not say on which CPU its samples were taken");
  EXPECT_TRUE(filtered(profile(false), {.pids = {1}}).ok());
  const auto nameless = filtered(profile(true, false), {.comms = {"first"}});
  ASSERT_FALSE(nameless.ok());
  EXPECT_EQ(nameless.error().why, "it does not say what the threads of its samples are called");
}

std::string refusal_of(const stream::Recording& recording, const SampleFilter& filter) {
  const auto read = filtered(recording, {.filter = filter});
  return read ? "" : read.error().why;
}

TEST(FilteredProfile, WhatARecordingDoesNotSayCannotBeAskedFor) {
  stream::TestRecording bare(PERF_SAMPLE_IP | PERF_SAMPLE_TID);
  bare.sample({.pid = 5, .tid = 5});
  const stream::Recording recording = bare.recording();
  EXPECT_EQ(refusal_of(recording, {.cpus = {0}}), "it does not say on which CPU its samples were taken");
  EXPECT_EQ(refusal_of(recording, {.end_time = 5}), "it does not say when its samples were taken");
  // There is no such event, which is another error.
  EXPECT_EQ(refusal_of(recording, {.cpus = {0}, .events = {"nonesuch"}}), "");
  EXPECT_EQ(refusal_of(recording, {.pids = {6}}), "");
  EXPECT_EQ(model::totals(*filtered(recording, {.filter = {.pids = {5}}})).count, 1u);
}

TEST(FilteredProfile, TasksOfARecordingThatHaveNoNumbersOfTheirOwnCannotBeAskedFor) {
  stream::TestRecording made_up;
  made_up.sample({.pid = stream::kFirstMadeUpPid, .tid = stream::kFirstMadeUpPid});
  stream::Recording recording = made_up.recording();
  EXPECT_EQ(refusal_of(recording, {.pids = {6}}), "");
  recording.recorder.emplace();
  recording.converted = true;
  EXPECT_EQ(refusal_of(recording, {.pids = {6}}), "it does not say of which processes its samples are");
  EXPECT_EQ(refusal_of(recording, {.tids = {6}}), "it does not say of which threads its samples are");
}

}  // namespace
}  // namespace tephra::formats
