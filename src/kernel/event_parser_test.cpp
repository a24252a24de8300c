#include "kernel/event_parser.h"

#include <gtest/gtest.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include "kernel/made_up_sources.h"

namespace tephra::kernel {
namespace {

class EventParser : public testing::Test {
 protected:
  std::vector<EventSpec> parse(std::string_view text) {
    auto events = parse_events(text, sources_);
    EXPECT_TRUE(events.ok()) << text << ": " << events.error().message();
    return events.ok() ? *events : std::vector<EventSpec>{};
  }
  EventSpec one(std::string_view text) {
    auto events = parse(text);
    EXPECT_EQ(events.size(), 1u) << text;
    return events.empty() ? EventSpec{} : events.front();
  }
  std::string error(std::string_view text) {
    const auto events = parse_events(text, sources_);
    EXPECT_FALSE(events.ok()) << text;
    if (events.ok()) return {};
    EXPECT_EQ(events.error().kind, base::Error::Kind::kUsage) << text;
    return events.error().message();
  }
  void expect_error(std::string_view text, const std::string& part) {
    const std::string message = error(text);
    EXPECT_NE(message.find(part), std::string::npos) << text << ": " << message;
  }

  MadeUpSources machine_;
  EventSources sources_ = machine_.sources();
};

TEST_F(EventParser, TermsOfNames) {
  EXPECT_EQ(one("cpu-clock/freq=199/").frequency, 199u);
  const EventSpec named = one("cpu-clock/period=10000,name=foo/u");
  EXPECT_EQ(named.period, 10000u);
  EXPECT_EQ(named.name, "foo");
  EXPECT_TRUE(named.exclude_kernel);
  EXPECT_EQ(one("cycles/period=0x10/").period, 16u);
  EXPECT_EQ(one("cycles/name='a,b/c'/").name, "a,b/c");
  EXPECT_EQ(one("cycles//u").exclude_kernel, true);
  EXPECT_EQ(one("cycles/config1=3/").config1, 3u);
  EXPECT_FALSE(one("cpu-clock/period=5,freq=7/").period) << "the last one holds";
  expect_error("cycles/period=0/", "not from 1");
  expect_error("cycles/period=1k/", "not a number");
  expect_error("cycles/perid=1/", "Did you mean period?");
  expect_error("cycles/call-graph=fp/", "cannot set for one event");
  expect_error("cycles/period=1", "without a closing slash");
  expect_error("cycles/period=1,,freq=2/", "has no name");
}

TEST_F(EventParser, RawCodes) {
  const EventSpec raw = one("r1a8:u");
  EXPECT_EQ(raw.type, uint32_t{PERF_TYPE_RAW});
  EXPECT_EQ(raw.config, 0x1a8u);
  EXPECT_TRUE(raw.exclude_kernel);
  EXPECT_EQ(one("rffffffffffffffff").config, UINT64_MAX);
  EXPECT_EQ(one("cpu/r1a8/").config, 0x1a8u);
  EXPECT_EQ(one("cpu/r1a8,cmask=2/").config, 0x020001a8u);
  error("rfffffffffffffffff");
  error("r");
}

TEST_F(EventParser, PmuTermsGoToTheirBits) {
  const EventSpec event = one("cpu/event=0x3c,umask=0x01,edge,inv=0,cmask=2/u");
  EXPECT_EQ(event.type, 4u);
  EXPECT_EQ(event.config, 0x0204013cu);
  EXPECT_EQ(event.name, "cpu/event=0x3c,umask=0x01,edge,inv=0,cmask=2/u");
  EXPECT_TRUE(event.exclude_kernel);
  EXPECT_TRUE(event.exclude_guest);
  EXPECT_TRUE(event.cpus.empty());
  EXPECT_EQ(one("cpu/wide=0xabc/").config, 0xa000000bcu) << "bits go to the ranges in ascending order";
  EXPECT_EQ(one("cpu/offcore_rsp=0xffffffffffffffff/").config1, UINT64_MAX);
  EXPECT_EQ(one("cpu/late=5/").config2, 0x28u);
  EXPECT_EQ(one("cpu/config=0x55,event=0xf/").config, 0x5fu) << "bits add to whole words";
  EXPECT_EQ(one("cpu/event=0xf,config=0x50/").config, 0x5fu) << "in any order";
  EXPECT_EQ(one("cpu/event=1,period=5/").period, 5u);
  expect_error("cpu/umask=0x100/", "The largest for umask is 255 (0xff)");
  expect_error("cpu/wide=0x1000/", "The largest for wide is 4095");
  expect_error("cpu/umsk=1/", "Did you mean umask");
  expect_error("cpu/nothing=1/", "Terms are cmask, edge, event");
  expect_error("cpu/later=1/", "config3");
  expect_error("cpu/broken=1/", "unknown term");
  expect_error("cpu/umask=x/", "not a number");
  expect_error("cp/umask=1/", "Did you mean cpu?");
}

TEST_F(EventParser, NamedEventsOfPmus) {
  EXPECT_EQ(one("cpu/cpu-cycles/").config, 0x3cu);
  const EventSpec loads = one("cpu/mem-loads,name=loads/P");
  EXPECT_EQ(loads.config, 0x1cdu);
  EXPECT_EQ(loads.config1, 3u);
  EXPECT_EQ(loads.name, "loads");
  EXPECT_TRUE(loads.most_precise);
  EXPECT_EQ(one("cpu/slots,umask=0x80/").config, 0x8400u);
  EXPECT_EQ(one("mem-loads:u").config, 0x1cdu) << "a PMU's event by its bare name";
  expect_error("cpu/by-core/", "by-core needs a value for umask");
  EXPECT_EQ(one("cpu/by-core,umask=7/").config, 0x710u);
  expect_error("mem-load", "Did you mean cpu/mem-loads/?");
}

TEST_F(EventParser, PmusOfSocketsNameTheirCpus) {
  const EventSpec power = one("power/energy-pkg/");
  EXPECT_EQ(power.type, 22u);
  EXPECT_EQ(power.config, 2u);
  EXPECT_EQ(power.cpus, std::vector<int>{0});
  EXPECT_FALSE(power.exclude_guest);
  const auto all = parse("uncore_imc/cas_count_read/");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "uncore_imc_0/cas_count_read/");
  EXPECT_EQ(all[0].type, 10u);
  EXPECT_EQ(all[1].type, 11u);
  EXPECT_EQ(all[1].config, 0x304u);
  EXPECT_EQ(all[1].cpus, (std::vector<int>{0, 18}));
  EXPECT_EQ(parse("imc/cas_count_read/").size(), 2u);
  EXPECT_EQ(parse("imc_1/cas_count_read/").size(), 1u);
  EXPECT_EQ(parse("uncore_*/cas_count_read/").size(), 2u);
  EXPECT_EQ(parse("cas_count_read").size(), 2u);
  expect_error("uncore_imc_0/cas_count_read.scale/", "unknown term");
}

TEST_F(EventParser, WithoutACpuPmuItSaysSo) {
  EventSources bare{Pmus("/nonexistent"), Tracepoints("/nonexistent")};
  const auto events = parse_events("cpu/cycles/", bare);
  ASSERT_FALSE(events.ok());
  EXPECT_NE(events.error().message().find("no PMU of its CPUs"), std::string::npos);
}

TEST_F(EventParser, Breakpoints) {
  const EventSpec plain = one("mem:4096");
  EXPECT_TRUE(plain.breakpoint());
  EXPECT_EQ(plain.config1, 4096u);
  EXPECT_EQ(plain.config2, 4u);
  EXPECT_EQ(plain.breakpoint_type, uint32_t{HW_BREAKPOINT_RW});
  const EventSpec full = one("mem:0x1000/8:w:u");
  EXPECT_EQ(full.config1, 0x1000u);
  EXPECT_EQ(full.config2, 8u);
  EXPECT_EQ(full.breakpoint_type, uint32_t{HW_BREAKPOINT_W});
  EXPECT_TRUE(full.exclude_kernel);
  EXPECT_EQ(full.name, "mem:0x1000/8:w:u");
  EXPECT_EQ(one("mem:0x10:x").config2, sizeof(long));
  EXPECT_EQ(one("mem:0x10/2:xw").breakpoint_type, uint32_t{HW_BREAKPOINT_X | HW_BREAKPOINT_W});
  EXPECT_TRUE(one("mem:0x10:u").exclude_kernel) << "modifiers without accesses";
  EXPECT_EQ(parse("mem:0x10/8,cycles").size(), 2u);
  expect_error("mem:zz", "the address is not a number");
  expect_error("mem:0x10/0", "the length");
  expect_error("mem:0x10/x", "the length");
  error("mem:0x10:ww");
  expect_error("mem:0x10:r:u:k", "left over");
  error("mem:");
}

TEST_F(EventParser, TracepointsAndPatterns) {
  const EventSpec one_only = one("sched:sched_switch:u");
  EXPECT_TRUE(one_only.tracepoint());
  EXPECT_EQ(one_only.config, 316u);
  EXPECT_EQ(one_only.name, "sched:sched_switch:u");
  EXPECT_TRUE(one_only.exclude_kernel);
  EXPECT_EQ(parse("sched:*").size(), 2u);
  EXPECT_EQ(parse("sys*:*enter_read").size(), 1u);
  EXPECT_EQ(one("*:*switch").name, "sched:sched_switch");
  EXPECT_EQ(parse("*:*").size(), 5u) << "ftrace's own records have no id";
  EXPECT_EQ(one("probe_*:malloc").config, 1500u);
  const EventSpec rated = one("sched:sched_switch/period=2/k");
  EXPECT_EQ(rated.period, 2u);
  EXPECT_EQ(rated.name, "sched:sched_switch:k");
  EXPECT_TRUE(rated.exclude_user);
  expect_error("sched:sched_switch/name=x/", "takes period and freq");
  expect_error("sched_switch", "Did you mean sched:sched_switch?");
  expect_error("sched:sched_swich", "Did you mean sched:sched_switch?");
  expect_error("shced:sched_switch", "Did you mean sched:sched_switch?");
  expect_error("sched:sched_switch:x", "Modifiers are u");
  error("sched:../../etc");
  error("../x:y");
  error("sched:");
}

TEST_F(EventParser, GroupsAreNumberedAndTheirModifiersAdd) {
  const auto events = parse("{cycles,instructions}:S, page-faults , front{cs:u,faults}:kW");
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0].group, 0);
  EXPECT_EQ(events[1].group, 0);
  EXPECT_TRUE(events[0].leader_samples);
  EXPECT_TRUE(events[1].leader_samples);
  EXPECT_EQ(events[0].name, "cycles") << "S does not change what is counted";
  EXPECT_EQ(events[2].group, -1);
  EXPECT_FALSE(events[2].leader_samples);
  EXPECT_EQ(events[3].group, 1);
  EXPECT_EQ(events[3].name, "cs:uk");
  EXPECT_FALSE(events[3].exclude_user);
  EXPECT_FALSE(events[3].exclude_kernel);
  EXPECT_TRUE(events[3].weak_group);
  EXPECT_EQ(events[4].name, "faults:k");
  EXPECT_TRUE(events[4].exclude_user);
}

TEST_F(EventParser, GroupsHoldAnyEvent) {
  const auto events = parse("{cpu/event=1,umask=2/u,mem:0x10/8:w,sched:*}:D");
  ASSERT_EQ(events.size(), 4u);
  for (const EventSpec& event : events) EXPECT_EQ(event.group, 0);
  EXPECT_TRUE(events[0].pinned);
  EXPECT_FALSE(events[1].pinned) << "the leader's counter is the group's";
  EXPECT_EQ(one("{cpu/event=1/}:k").name, "cpu/event=1/k");
  expect_error("{cycles", "without its }");
  expect_error("cycles}", "unexpected }");
  expect_error("{}", "no event");
  expect_error("{{cycles}}", "a group inside a group");
  expect_error("{cycles}:x", "Modifiers are u");
  expect_error("{cycles}{cs}", "unexpected");
  expect_error("cycles,", "no event");
  expect_error("", "no event");
}

TEST_F(EventParser, ListsHaveAnEnd) {
  std::string many = "*:*";
  for (int i = 0; i < 5000; ++i) many += ",*:*";
  expect_error(many, "too many events");
  expect_error(std::string(100'000, 'x'), "longer than");
}

TEST_F(EventParser, Modifiers) {
  EXPECT_TRUE(one("cycles").exclude_guest);
  EXPECT_FALSE(one("cpu-clock").exclude_guest);
  EXPECT_TRUE(one("cycles:I").exclude_idle);
  EXPECT_TRUE(one("cycles:G").exclude_host);
  EXPECT_FALSE(one("cycles:G").exclude_guest);
  EXPECT_FALSE(one("cycles:H").exclude_host);
  EXPECT_TRUE(one("cycles:H").exclude_guest);
  EXPECT_FALSE(one("cycles:GH").exclude_guest);
  EXPECT_EQ(one("cycles:ppp").precise, 3);
  EXPECT_TRUE(one("cycles:P").most_precise);
  EXPECT_TRUE(one("cycles:D").pinned);
  EXPECT_TRUE(one("cycles:e").exclusive);
  EXPECT_TRUE(one("cycles:S").leader_samples);
  EXPECT_TRUE(one("cycles:W").weak_group);
  EXPECT_FALSE(one("cycles:I").modes_given);
  EXPECT_TRUE(one("cycles:h").exclude_user);
  EXPECT_EQ(one("cycles:").name, "cycles");
  error("cycles:uu");
  error("cycles:pppp");
  error("{cycles:pp}:pp");
  error("cycles:b");
  error("cycles:u:k");
}

}  // namespace
}  // namespace tephra::kernel
