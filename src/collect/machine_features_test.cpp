#include "collect/machine_features.h"

#include <gtest/gtest.h>

#include <map>

#include "base/bytes.h"
#include "kernel/procfs.h"

namespace tephra::collect {
namespace {

std::map<int, std::string> by_bit() {
  std::map<int, std::string> sections;
  for (const Feature& feature : machine_features()) sections[feature.bit] = feature.content;
  return sections;
}

std::string text(base::ByteReader& reader) { return std::string(base::until_nul(reader.bytes(reader.u32()))); }

TEST(MachineFeatures, FieldsAreFoundByTheirWholeName) {
  const std::string cpuinfo = "cpu family\t: 6\nmodel\t\t: 85\nmodel name\t: A CPU: fast\nflags :\nstepping : 7";
  EXPECT_EQ(field_of(cpuinfo, "model"), "85");
  EXPECT_EQ(field_of(cpuinfo, "model name"), "A CPU: fast");
  EXPECT_EQ(field_of(cpuinfo, "stepping"), "7");
  EXPECT_EQ(field_of(cpuinfo, "flags"), "");
  EXPECT_EQ(field_of(cpuinfo, "family"), "6");
  EXPECT_EQ(field_of(cpuinfo, "none"), "");
  EXPECT_EQ(field_of("", "none"), "");
  EXPECT_EQ(field_of("Node 0 MemTotal:    4096 kB\nNode 0 MemFree: 1 kB", "MemTotal"), "4096 kB");
}

TEST(MachineFeatures, TheTopologyHasEveryCpuOnce) {
  const auto sections = by_bit();
  base::ByteReader counts(base::as_bytes(sections.at(7)));
  const uint32_t cpus = counts.u32();
  EXPECT_EQ(cpus, kernel::present_cpu_count());

  base::ByteReader topology(base::as_bytes(sections.at(13)));
  for (int kind = 0; kind < 2; ++kind) {
    const uint32_t lists = topology.u32();
    ASSERT_LE(lists, cpus);
    size_t listed = 0;
    for (uint32_t i = 0; i < lists; ++i)
      listed += kernel::parse_cpu_list(text(topology)).value_or(std::vector<int>{}).size();
    EXPECT_EQ(listed, lists == 0 ? 0 : kernel::online_cpus().size());
  }
  topology.skip(size_t{cpus} * 8);
  EXPECT_TRUE(topology.ok());
  if (!topology.at_end()) {
    for (uint32_t lists = topology.u32(); lists > 0; --lists) text(topology);
    topology.skip(size_t{cpus} * 4);
  }
  EXPECT_TRUE(topology.ok() && topology.at_end());
}

TEST(MachineFeatures, SoftwareEventsAreAmongTheUnits) {
  const auto sections = by_bit();
  if (!sections.contains(16)) GTEST_SKIP() << "no units in sysfs";
  base::ByteReader reader(base::as_bytes(sections.at(16)));
  std::map<uint32_t, std::string> names;
  for (uint32_t left = reader.u32(); left > 0; --left) {
    const uint32_t type = reader.u32();
    names[type] = text(reader);
  }
  EXPECT_TRUE(reader.ok() && reader.at_end());
  EXPECT_EQ(names[1], "software");
}

}  // namespace
}  // namespace tephra::collect
