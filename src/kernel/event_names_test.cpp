#include "kernel/event_names.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

namespace tephra::kernel {
namespace {

TEST(EventNames, KnowsSoftwareAndHardwareEvents) {
  const auto events = parse_events("cpu-clock,faults,cs,cycles,L1-dcache-load-misses");
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(events->size(), 5u);
  EXPECT_EQ((*events)[0].config, uint64_t{PERF_COUNT_SW_CPU_CLOCK});
  EXPECT_EQ((*events)[1].config, uint64_t{PERF_COUNT_SW_PAGE_FAULTS});
  EXPECT_EQ((*events)[1].name, "faults");
  EXPECT_EQ((*events)[2].config, uint64_t{PERF_COUNT_SW_CONTEXT_SWITCHES});
  EXPECT_TRUE((*events)[3].hardware());
  EXPECT_EQ((*events)[4].config, uint64_t{0x10000});
}

TEST(EventNames, ModifiersLimitTheModes) {
  const auto user = parse_events("cpu-clock:u");
  ASSERT_TRUE(user.ok());
  EXPECT_TRUE((*user)[0].exclude_kernel);
  EXPECT_TRUE((*user)[0].exclude_hypervisor);
  EXPECT_FALSE((*user)[0].exclude_user);
  EXPECT_TRUE((*user)[0].modes_given);
  const auto kernel = parse_events("cpu-clock:k");
  ASSERT_TRUE(kernel.ok());
  EXPECT_TRUE((*kernel)[0].exclude_user);
  EXPECT_FALSE((*kernel)[0].exclude_kernel);
  const auto both = parse_events("cycles:ukpp");
  ASSERT_TRUE(both.ok());
  EXPECT_FALSE((*both)[0].exclude_user);
  EXPECT_FALSE((*both)[0].exclude_kernel);
  EXPECT_EQ((*both)[0].precise, 2);
  EXPECT_FALSE((*parse_events("cpu-clock"))[0].modes_given);
}

TEST(EventNames, UnknownNamesGetSuggestions) {
  const auto typo = parse_events("cpu-clok");
  ASSERT_FALSE(typo.ok());
  EXPECT_NE(typo.error().message().find("Did you mean cpu-clock"), std::string::npos) << typo.error().message();
  EXPECT_FALSE(parse_events("").ok());
  EXPECT_FALSE(parse_events("cpu-clock,").ok());
  EXPECT_FALSE(parse_events("cpu-clock:x").ok());
  EXPECT_FALSE(parse_events("sched:../../etc").ok());
}

TEST(EventNames, EveryNameParsesToItself) {
  for (const std::string& name : event_names()) {
    const auto events = parse_events(name);
    ASSERT_TRUE(events.ok()) << name;
    EXPECT_EQ((*events)[0].name, name);
  }
}

}  // namespace
}  // namespace tephra::kernel
