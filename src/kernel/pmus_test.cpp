#include "kernel/pmus.h"

#include <gtest/gtest.h>

#include "kernel/made_up_sources.h"

namespace tephra::kernel {
namespace {

TEST(Pmus, ReadsBitLayouts) {
  const auto low = parse_term_bits("config:0-7\n");
  ASSERT_TRUE(low);
  EXPECT_EQ(low->mask, 0xffu);
  EXPECT_EQ(low->largest(), 255u);
  const auto split = parse_term_bits("config:0-7,21");
  ASSERT_TRUE(split);
  EXPECT_EQ(split->place(0x1ff), 0x2000ffu);
  EXPECT_EQ(split->largest(), 511u);
  const auto whole = parse_term_bits("config1:0-63");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->word, 1u);
  EXPECT_EQ(whole->largest(), UINT64_MAX);
  EXPECT_EQ(whole->place(UINT64_MAX), UINT64_MAX);
  EXPECT_EQ(parse_term_bits("config:18")->mask, 0x40000u);
  for (const char* text : {"", "config", "config:", "config:x", "config:7-0", "config:0-64", "config:-1", "event:0-7",
                           "config10:0", "configx:0", "config:0-99999999999"}) {
    EXPECT_FALSE(parse_term_bits(text)) << text;
  }
}

TEST(Pmus, ReadsAFolder) {
  const MadeUpSources machine;
  Pmus pmus(machine.pmus());
  EXPECT_EQ(pmus.names(), (std::vector<std::string>{"cpu", "power", "uncore_imc_0", "uncore_imc_1"}));
  const Pmu* cpu = pmus.find("cpu");
  ASSERT_NE(cpu, nullptr);
  EXPECT_TRUE(cpu->core);
  EXPECT_EQ(*pmus.definition(*cpu, "slots"), "event=0x00,umask=0x4");
  EXPECT_EQ(cpu->terms.count("broken"), 0u);
  EXPECT_EQ(pmus.find("uncore_imc_0")->events, std::vector<std::string>{"cas_count_read"});
  EXPECT_FALSE(pmus.find("power")->core);
  EXPECT_EQ(pmus.find("nothing"), nullptr);
  EXPECT_EQ(pmus.find("../devices/cpu"), nullptr) << "a name is not a path";
  EXPECT_EQ(pmus.find("cpu"), cpu) << "read once";
}

TEST(Pmus, CpusOfOnePartOfAHybridMachine) {
  const MadeUpSources machine;
  machine.write("devices/cpu_atom/type", "10");
  machine.write("devices/cpu_atom/cpus", "16-17");
  Pmus pmus(machine.pmus());
  ASSERT_NE(pmus.find("cpu_atom"), nullptr);
  EXPECT_TRUE(pmus.find("cpu_atom")->core);
  EXPECT_EQ(pmus.find("cpu_atom")->cpus, (std::vector<int>{16, 17}));
}

TEST(Pmus, AFolderWithoutATypeIsNone) {
  const MadeUpSources machine;
  machine.write("devices/strange/format/event", "config:0-7");
  machine.write("devices/stranger/type", "many");
  Pmus pmus(machine.pmus());
  EXPECT_EQ(pmus.find("strange"), nullptr);
  EXPECT_EQ(pmus.find("stranger"), nullptr);
}

}  // namespace
}  // namespace tephra::kernel
