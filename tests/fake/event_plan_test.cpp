// collect/event_plan.cpp: what is given up where the machine or the kernel cannot do it.
#include "collect/event_plan.h"

#include <gtest/gtest.h>

#include "records_for_tests.h"

namespace tephra::collect {
namespace {

using fake::machine;

class EventPlanTest : public ::testing::Test {
 protected:
  std::vector<PlannedEvent> plan(const std::string& events, const fake::MachineConfig& config = {}) {
    machine().reset(config);
    Target target;
    target.command = {"program"};
    const auto specs = kernel::parse_events(events);
    EXPECT_TRUE(specs) << specs.error().message();
    auto made = plan_events(*specs, target, settings_, kernel::probe_attr_support(),
                            [this](const std::string& text) { notes_ += text; });
    EXPECT_EQ(machine().events().size(), 0u) << "all trials are closed";
    return made;
  }

  PlanSettings settings_;
  std::string notes_;
};

TEST_F(EventPlanTest, IsAsPreciseAsTheMachine) {
  for (int best = 0; best <= 3; ++best) {
    fake::MachineConfig config;
    config.max_precise = best;
    EXPECT_EQ(plan("cycles:P", config)[0].attr.precise_ip, static_cast<unsigned>(best));
    EXPECT_EQ(plan("cycles:p", config)[0].attr.precise_ip, 1u) << "what was asked for stays";
  }
}

TEST_F(EventPlanTest, IsAsPreciseAsTheMachineAlsoWithoutRightsToTheKernel) {
  fake::MachineConfig config;
  config.privileged = false;
  EXPECT_EQ(plan("cycles:P", config)[0].attr.precise_ip, 3u);
}

TEST_F(EventPlanTest, IsAsPreciseAsTheMachineAlsoWithBranchesOnAnOldKernel) {
  fake::MachineConfig config;
  config.kernel = *fake::kernel_age("4.19");
  settings_.sampling.branch_types = PERF_SAMPLE_BRANCH_ANY;
  const auto event = plan("cycles:P", config)[0];
  EXPECT_EQ(event.attr.precise_ip, 3u);
  EXPECT_EQ(event.attr.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX, 0u);
  EXPECT_EQ(plan("cycles:P")[0].attr.branch_sample_type,
            uint64_t{PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_HW_INDEX});
}

TEST_F(EventPlanTest, TakesWeightsAsTheKernelKnowsThem) {
  settings_.sampling.weights = true;
  EXPECT_TRUE(plan("cycles")[0].attr.sample_type & PERF_SAMPLE_WEIGHT_STRUCT);
  fake::MachineConfig config;
  config.kernel = *fake::kernel_age("5.4");
  const uint64_t type = plan("cycles", config)[0].attr.sample_type;
  EXPECT_FALSE(type & PERF_SAMPLE_WEIGHT_STRUCT);
  EXPECT_TRUE(type & PERF_SAMPLE_WEIGHT);
}

TEST_F(EventPlanTest, AGroupStartsWithItsLeader) {
  const auto events = plan("{cycles,instructions}");
  EXPECT_EQ(events[0].leader, -1);
  EXPECT_EQ(events[1].leader, 0);
  EXPECT_TRUE(events[0].attr.disabled);
  EXPECT_TRUE(events[0].attr.enable_on_exec);
  EXPECT_FALSE(events[1].attr.disabled);
  EXPECT_FALSE(events[1].attr.enable_on_exec);
}

TEST_F(EventPlanTest, ALeaderSamplesForItsGroup) {
  const auto events = plan("{cycles,instructions}:S");
  ASSERT_EQ(events.size(), 3u) << "another event tells about processes";
  EXPECT_TRUE(events[1].attr.sample_type & PERF_SAMPLE_READ);
  EXPECT_TRUE(events[1].attr.read_format & PERF_FORMAT_GROUP);
  EXPECT_FALSE(events[1].attr.inherit);
  EXPECT_EQ(events[2].attr.sample_period, 0u);
}

TEST_F(EventPlanTest, AWeakGroupIsBrokenUpWhereItDoesNotFit) {
  fake::MachineConfig config;
  config.counters = 2;
  const auto apart = plan("{cycles,instructions,branches}:W", config);
  EXPECT_NE(notes_.find("does not fit"), std::string::npos);
  for (const PlannedEvent& event : apart) {
    EXPECT_EQ(event.leader, -1);
    EXPECT_TRUE(event.attr.disabled);
    EXPECT_TRUE(event.attr.enable_on_exec);
    EXPECT_NE(event.attr.sample_period, 0u);
  }
  notes_.clear();
  const auto together = plan("{cycles,instructions}:W", config);
  EXPECT_EQ(together[1].leader, 0);
  EXPECT_EQ(notes_, "");
}

}  // namespace
}  // namespace tephra::collect
