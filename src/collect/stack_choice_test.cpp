#include "collect/stack_choice.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include "kernel/event_names.h"

namespace tephra::collect {
namespace {

kernel::EventSpec event(const char* name) { return kernel::software_event(name); }

TEST(WhyNotWalked, OnlyWhatTheProgramWrites) {
  const SampleSettings plain;
  EXPECT_EQ(why_not_walked(event("cpu-clock"), plain), "");
  EXPECT_EQ(why_not_walked(event("page-faults"), plain), "");
  kernel::EventSpec cycles;
  cycles.type = PERF_TYPE_HARDWARE;
  cycles.most_precise = true;
  EXPECT_EQ(why_not_walked(cycles, plain), "");
  cycles.precise = 2;
  EXPECT_NE(why_not_walked(cycles, plain), "");
  kernel::EventSpec tracepoint;
  tracepoint.type = PERF_TYPE_TRACEPOINT;
  EXPECT_NE(why_not_walked(tracepoint, plain), "");
  kernel::EventSpec leader = event("cpu-clock");
  leader.leader_samples = true;
  EXPECT_NE(why_not_walked(leader, plain), "");
}

TEST(WhyNotWalked, MoreInASampleThanItWrites) {
  for (bool SampleSettings::*field :
       {&SampleSettings::addresses, &SampleSettings::physical_addresses, &SampleSettings::data_page_size,
        &SampleSettings::code_page_size, &SampleSettings::weights, &SampleSettings::raw, &SampleSettings::cgroups}) {
    SampleSettings settings;
    settings.*field = true;
    EXPECT_NE(why_not_walked(event("cpu-clock"), settings), "");
  }
  SampleSettings kernel_only;
  kernel_only.user_stacks = false;
  EXPECT_NE(why_not_walked(event("cpu-clock"), kernel_only), "");
}

TEST(StackChoice, CopiesAreSmallerAtHighRates) {
  EXPECT_EQ(stack_bytes_for(99), kMaxStackBytes);
  EXPECT_EQ(stack_bytes_for(4000), 8384u);
  EXPECT_EQ(stack_bytes_for(1'000'000), kDefaultStackBytes);
  EXPECT_EQ(stack_bytes_for(0), kMaxStackBytes);
  for (const uint64_t rate : {100, 333, 999, 2500, 7777}) EXPECT_EQ(stack_bytes_for(rate) % 8, 0u);
}

TEST(StackChoice, WhatWasAskedForByNameIsTaken) {
  SampleSettings settings;
  settings.call_graph = CallGraph::kDwarf;
  settings.stack_bytes = 4096;
  const auto choice = choose_stacks(settings, {event("cpu-clock")}, {}, {}, [](const std::string&) { FAIL(); });
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->of_events, std::vector{CallGraph::kDwarf});
  EXPECT_EQ(choice->stack_bytes, 4096u);
  EXPECT_EQ(choice->why, "");
}

TEST(StackChoice, AutoIsSettledForEveryEvent) {
  SampleSettings settings;
  settings.call_graph = CallGraph::kAuto;
  kernel::EventSpec tracepoint;
  tracepoint.type = PERF_TYPE_TRACEPOINT;
  tracepoint.name = "a:b";
  std::string noted;
  const auto note = [&](const std::string& text) { noted += text; };
  Target target;
  target.all_cpus = true;
  const auto choice = choose_stacks(settings, {event("cpu-clock"), tracepoint}, target, {}, note);
  ASSERT_TRUE(choice);
  EXPECT_NE(choice->why, "");
  EXPECT_EQ(choice->of_events[1], CallGraph::kFramePointers);
  if (choice->program) {
    EXPECT_EQ(choice->of_events[0], CallGraph::kBpf);
    EXPECT_NE(noted.find("a:b"), std::string::npos);
  } else {
    EXPECT_EQ(choice->of_events[0], CallGraph::kFramePointers);
    EXPECT_NE(choice->why.find("cannot be walked in the kernel"), std::string::npos);
  }
}

TEST(StackChoice, BpfByNameIsAnErrorWhereItCannotBe) {
  SampleSettings settings;
  settings.call_graph = CallGraph::kBpf;
  settings.raw = true;
  const auto choice = choose_stacks(settings, {event("cpu-clock")}, {}, {}, [](const std::string&) {});
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().kind, base::Error::Kind::kUsage);
}

}  // namespace
}  // namespace tephra::collect
