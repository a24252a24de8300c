#include "kernel/known_events.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernel/made_up_sources.h"

namespace tephra::kernel {
namespace {

TEST(KnownEvents, EveryNameThatIsListedParses) {
  const MadeUpSources machine;
  EventSources sources = machine.sources();
  const auto events = known_events(sources.pmus, sources.tracepoints);
  for (const KnownEvent& event : events) {
    if (event.kind == EventKind::kRaw || event.kind == EventKind::kBreakpoint) continue;
    if (event.name == "cpu/by-core/") continue;  // wants a parameter
    EXPECT_TRUE(parse_events(event.name, sources).ok()) << event.name;
  }
  const auto count = [&](EventKind kind) {
    return std::count_if(events.begin(), events.end(), [&](const KnownEvent& event) { return event.kind == kind; });
  };
  EXPECT_EQ(count(EventKind::kSoftware), 12);
  EXPECT_EQ(count(EventKind::kHardware), 10);
  EXPECT_EQ(count(EventKind::kCache), 32);
  EXPECT_EQ(count(EventKind::kPmu), 7);
  EXPECT_EQ(count(EventKind::kTracepoint), 5);
  EXPECT_EQ(count(EventKind::kRaw), 1);
  EXPECT_EQ(count(EventKind::kBreakpoint), 1);
}

TEST(KnownEvents, KindsHaveNames) {
  EXPECT_EQ(name_of(EventKind::kHardware), "hardware");
  EXPECT_EQ(name_of(EventKind::kBreakpoint), "breakpoint");
}

}  // namespace
}  // namespace tephra::kernel
