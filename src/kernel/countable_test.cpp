#include "kernel/countable.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cerrno>

#include "kernel/event_names.h"

namespace tephra::kernel {
namespace {

EventSpec hardware_event(uint64_t config) {
  EventSpec event;
  event.type = PERF_TYPE_HARDWARE;
  event.config = config;
  return event;
}

TEST(Countable, ClocksCountEverywhere) {
  const Countability clock = countable(software_event("cpu-clock"));
  EXPECT_TRUE(clock.counts) << clock.why;
  EXPECT_TRUE(clock.samples) << clock.why;
  EXPECT_EQ(clock.instead, "");
}

TEST(Countable, AnAnswerIsYesOrAReason) {
  for (const char* name : {"cycles", "instructions", "LLC-load-misses", "page-faults", "r1a8"}) {
    const auto events = parse_events(name);
    ASSERT_TRUE(events.ok());
    const Countability answer = countable(events->front());
    EXPECT_EQ(answer.samples, answer.why.empty()) << name;
    EXPECT_TRUE(answer.counts || !answer.samples) << name;
  }
}

TEST(Countable, ATypeThatNoPmuHasIsRefused) {
  EventSpec event;
  event.type = 12345;
  const Countability answer = countable(event);
  EXPECT_FALSE(answer.counts);
  EXPECT_NE(answer.why, "");
}

TEST(Countable, ReasonsSayWhatIsMissing) {
  const EventSpec cycles = hardware_event(PERF_COUNT_HW_CPU_CYCLES);
  EXPECT_NE(why_refused(cycles, {.error = ENOENT, .cpu_pmu = false}).find("no PMU"), std::string::npos);
  EXPECT_NE(why_refused(cycles, {.error = ENOENT, .cpu_pmu = true}).find("this CPU does not have"), std::string::npos);
  EXPECT_NE(why_refused(cycles, {.error = EACCES, .cpu_pmu = false}).find("CAP_PERFMON"), std::string::npos);
  EXPECT_NE(why_refused(cycles, {.error = EOPNOTSUPP, .sampling = true}).find("not sampled"), std::string::npos);
  EventSpec precise = cycles;
  precise.precise = 2;
  EXPECT_NE(why_refused(precise, {.error = EOPNOTSUPP, .sampling = true}).find("precise"), std::string::npos);
  EXPECT_NE(why_refused(cycles, {.error = EBUSY}), why_refused(cycles, {.error = EINVAL}));
}

TEST(Countable, OffersWhatWorksEverywhere) {
  EXPECT_EQ(substitute_for(hardware_event(PERF_COUNT_HW_CPU_CYCLES)), "cpu-clock");
  EXPECT_TRUE(substitute_for(hardware_event(PERF_COUNT_HW_INSTRUCTIONS)).starts_with("cpu-clock"));
  EXPECT_EQ(substitute_for(software_event("page-faults")), "");
}

}  // namespace
}  // namespace tephra::kernel
