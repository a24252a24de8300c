#include "formats/filtered_profile.h"

#include <gtest/gtest.h>

#include "model/profile_assembler.h"

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
}

}  // namespace
}  // namespace tephra::formats
