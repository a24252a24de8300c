#include "stream/recorder_facts.h"

#include <gtest/gtest.h>

namespace tephra::stream {
namespace {

TEST(RecorderFacts, ComeBackAsTheyWere) {
  RecorderFacts facts;
  facts.recorder_pid = 4711;
  facts.recorder_cpu_seconds = 0.1 + 0.2;
  facts.wakeups = UINT64_MAX;
  facts.steal_seconds = 0;
  facts.cpu_seconds_total = 1e-9;
  facts.lost_ring_full = 0;
  facts.late_writes = 3;
  facts.copy_sizes = "16384:900:31,36864:5120:4";
  facts.engine = "frame pointers\nand C:\\back=slash\\n";
  facts.stacks_walked = 12;
  facts.stacks_copied = 1;
  facts.stacks_lost = 0;
  facts.table_bytes = uint64_t{1} << 40;
  facts.tables_refused = 2;
  facts.others["from_the_future"] = "yes=no\nmaybe";
  EXPECT_EQ(parse_facts(print_facts(facts)), facts);
}

TEST(RecorderFacts, WhatWasNotMeasuredIsAbsent) {
  EXPECT_EQ(print_facts({}), "");
  EXPECT_EQ(parse_facts(""), RecorderFacts{});
  RecorderFacts facts;
  facts.wakeups = 7;
  EXPECT_EQ(print_facts(facts), "wakeups=7\n");
  EXPECT_FALSE(parse_facts("wakeups=7\n").late_writes.has_value());
}

TEST(RecorderFacts, ReadsWhatMakesSense) {
  const auto facts = parse_facts("no equals\n=no key\n\nwakeups=many\nlate_writes=5\nsteal_seconds=inf\nengine=");
  EXPECT_FALSE(facts.wakeups.has_value());
  EXPECT_FALSE(facts.steal_seconds.has_value());
  EXPECT_EQ(facts.late_writes, 5u);
  EXPECT_EQ(facts.engine, "");
  EXPECT_EQ(facts.others, (std::map<std::string, std::string>{{"wakeups", "many"}, {"steal_seconds", "inf"}}));
}

TEST(RecorderFacts, EndAtThePadding) {
  const auto facts = parse_facts(std::string_view("wakeups=7\n\0\0\0\0late_writes=1\n", 27));
  EXPECT_EQ(facts.wakeups, 7u);
  EXPECT_FALSE(facts.late_writes.has_value());
}

TEST(RecorderFacts, StrangeKeysAreBounded) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "key" + std::to_string(i) + "=x\n";
  EXPECT_EQ(parse_facts(text).others.size(), 1000u);
}

TEST(RecorderFacts, SizesOfCopiesAreReadAsTheyWereWritten) {
  const std::vector<model::CopySize> sizes{{16384, 900, 31}, {36864, 5120, 4}};
  EXPECT_EQ(print_copy_sizes(sizes), "16384:900:31,36864:5120:4");
  EXPECT_EQ(parse_copy_sizes(print_copy_sizes(sizes)), sizes);
  EXPECT_EQ(print_copy_sizes({}), "");
  EXPECT_EQ(parse_copy_sizes(""), std::vector<model::CopySize>{});
}

TEST(RecorderFacts, SizesOfCopiesEndWhereTheyMakeNoSense) {
  const std::vector<model::CopySize> first{{8192, 1, 0}};
  for (const char* text : {"8192:1:0,", "8192:1:0,16384", "8192:1:0,16384:2", "8192:1:0,x:2:3", "8192:1:0,1:2:3:4",
                           "8192:1:0,99999999999:1:1", "8192:1:0,,8192:1:0"}) {
    EXPECT_EQ(parse_copy_sizes(text), first) << text;
  }
  EXPECT_EQ(parse_copy_sizes("::"), std::vector<model::CopySize>{});
}

}  // namespace
}  // namespace tephra::stream
