// Events that are opened a second time with copies of stacks of another size, on machines that tests choose.
#include "collect/event_set.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cerrno>
#include <set>

#include "collect/event_plan.h"
#include "fake_machine.h"
#include "kernel/event_parser.h"
#include "records_for_tests.h"

namespace tephra::collect {
namespace {

using fake::machine;

constexpr uint32_t kFirst = 16384;
constexpr uint32_t kNext = 36864;

// An event as the machine has it.
struct Sampled {
  uint64_t config;
  int cpu;
  uint32_t stack_bytes;
  bool enabled;
  auto operator<=>(const Sampled&) const = default;
};

class RenewalTest : public ::testing::Test {
 protected:
  void SetUp() override { machine().reset(); }

  // Open on whole CPUs and counting.
  EventSet& open(const std::string& events) {
    Target target;
    target.all_cpus = true;
    PlanSettings settings;
    settings.sampling.call_graph = CallGraph::kDwarf;
    settings.sampling.stack_bytes = kFirst;
    settings.renewed = true;
    const auto support = kernel::probe_attr_support();
    const auto note = [](const std::string&) {};
    events_.emplace(plan_events(*kernel::parse_events(events), target, settings, support, note), support, note);
    EXPECT_TRUE(events_->open_rings({0, 1}, true, {64 << 10, false}));
    EXPECT_TRUE(events_->attach_everything());
    events_->enable();
    return *events_;
  }
  static std::multiset<Sampled> sampled() {
    std::multiset<Sampled> found;
    for (const auto& event : machine().events()) {
      if (event.attr.sample_stack_user == 0) continue;
      found.insert({event.attr.config, event.cpu, event.attr.sample_stack_user, event.enabled});
    }
    return found;
  }
  static uint64_t tracking_events() {
    uint64_t count = 0;
    for (const auto& event : machine().events()) count += event.attr.mmap2 != 0;
    return count;
  }

  std::optional<EventSet> events_;
};

TEST_F(RenewalTest, TheNewEventsTakeThePlaceOfTheOld) {
  EventSet& events = open("cycles");
  const auto cycles = uint64_t{PERF_COUNT_HW_CPU_CYCLES};
  EXPECT_EQ(sampled(), (std::multiset<Sampled>{{cycles, 0, kFirst, true}, {cycles, 1, kFirst, true}}));
  const uint64_t side_band = events.side_band_id();
  events.renew(kNext);
  ASSERT_TRUE(events.attach_everything());
  EXPECT_EQ(
      sampled(),
      (std::multiset<Sampled>{
          {cycles, 0, kFirst, true}, {cycles, 0, kNext, false}, {cycles, 1, kFirst, true}, {cycles, 1, kNext, false}}))
      << "nothing is sampled twice";
  events.exchange();
  EXPECT_EQ(sampled(), (std::multiset<Sampled>{{cycles, 0, kNext, true}, {cycles, 1, kNext, true}}));
  EXPECT_EQ(tracking_events(), 2u) << "who tells about processes does so on";
  EXPECT_EQ(events.side_band_id(), side_band);
}

TEST_F(RenewalTest, TheFileKnowsOldAndNewIds) {
  EventSet& events = open("cycles");
  const auto before = events.file_events();
  events.renew(8192);
  ASSERT_TRUE(events.attach_everything());
  events.exchange();
  const auto after = events.file_events();
  ASSERT_EQ(after.size(), before.size());
  EXPECT_EQ(after[0].ids, before[0].ids);
  ASSERT_EQ(after[1].ids.size(), 4u);
  EXPECT_TRUE(std::equal(before[1].ids.begin(), before[1].ids.end(), after[1].ids.begin()));
  EXPECT_EQ(std::set(after[1].ids.begin(), after[1].ids.end()).size(), 4u);
  EXPECT_EQ(after[1].attr.sample_stack_user, kFirst) << "the largest there was";
  EXPECT_EQ(after[0].attr.sample_stack_user, 0u);
}

TEST_F(RenewalTest, GivenUpAllIsAsBefore) {
  EventSet& events = open("cycles");
  const auto before = events.file_events();
  const auto open_before = sampled();
  events.renew(kNext);
  ASSERT_TRUE(events.attach_everything());
  events.give_up();
  EXPECT_EQ(sampled(), open_before);
  EXPECT_EQ(events.file_events()[1].ids, before[1].ids);
  EXPECT_EQ(events.file_events()[1].attr.sample_stack_user, kFirst);
  // Another try is as good.
  events.renew(kNext);
  ASSERT_TRUE(events.attach_everything());
  events.exchange();
  EXPECT_EQ(sampled().begin()->stack_bytes, kNext);
  EXPECT_EQ(sampled().size(), 2u);
}

TEST_F(RenewalTest, WhatCouldNotBeOpenedIsGivenUp) {
  EventSet& events = open("cycles");
  const auto open_before = sampled();
  machine().fail_open([](const fake::OpenCall& call) { return call.attr.sample_stack_user == kNext && call.cpu == 1; },
                      EMFILE);
  events.renew(kNext);
  EXPECT_FALSE(events.attach_everything());
  events.give_up();
  EXPECT_EQ(sampled(), open_before);
}

TEST_F(RenewalTest, WhatIsSwitchedOffStaysSo) {
  EventSet& events = open("cycles,instructions");
  ASSERT_TRUE(events.enable_only("instructions", false));
  events.renew(kNext);
  ASSERT_TRUE(events.attach_everything());
  events.exchange();
  for (const Sampled& event : sampled()) {
    EXPECT_EQ(event.enabled, event.config == PERF_COUNT_HW_CPU_CYCLES);
    EXPECT_EQ(event.stack_bytes, kNext);
  }
  EXPECT_EQ(sampled().size(), 4u);
}

TEST_F(RenewalTest, WhatTheOldOnesLostIsCounted) {
  EventSet& events = open("cycles");
  machine().lose_next(50);
  machine().run(200'000'000, fake::running(fake::played_task()));
  const uint64_t lost = events.lost();
  EXPECT_GT(lost, 0u);
  events.renew(kNext);
  ASSERT_TRUE(events.attach_everything());
  events.exchange();
  EXPECT_EQ(events.lost(), lost);
}

TEST_F(RenewalTest, GroupsStayGroups) {
  EventSet& events = open("{cycles,instructions}");
  events.renew(kNext);
  ASSERT_TRUE(events.attach_everything());
  events.exchange();
  size_t members = 0;
  for (const auto& event : machine().events()) members += event.attr.sample_stack_user == kNext && event.group_fd >= 0;
  EXPECT_EQ(members, 2u);
  machine().run(200'000'000, fake::running(fake::played_task()));
  uint64_t samples = 0;
  for (const auto& record : fake::take_records(events.rings().ring(0))) {
    samples += record.header.type == PERF_RECORD_SAMPLE;
  }
  EXPECT_GT(samples, 0u);
}

}  // namespace
}  // namespace tephra::collect
