#include "collect/features.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "stream/perf_file.h"

namespace tephra::collect {
namespace {

std::optional<std::string> section(std::span<const FileEvent> events, int bit) {
  for (const Feature& feature : start_features(events, {}, true)) {
    if (feature.bit == bit) return feature.content;
  }
  return std::nullopt;
}

std::vector<FileEvent> events_of_groups(std::initializer_list<int> groups) {
  std::vector<FileEvent> events;
  for (const int group : groups) {
    events.emplace_back();
    events.back().group = group;
  }
  return events;
}

TEST(Features, GroupsAreToldByTheirFirstEvent) {
  const auto events = events_of_groups({-1, -1, 0, 0, 0, 1, 2, 2, -1});
  const auto content = section(events, stream::kFeatureGroupDescription);
  ASSERT_TRUE(content.has_value());
  base::ByteReader reader(base::as_bytes(*content));
  std::vector<std::pair<uint32_t, uint32_t>> groups;
  for (uint32_t left = reader.u32(); left > 0 && reader.ok(); --left) {
    EXPECT_EQ(base::until_nul(reader.bytes(reader.u32())), "{anon_group}");
    const uint32_t leader = reader.u32();
    groups.emplace_back(leader, reader.u32());
  }
  EXPECT_TRUE(reader.ok() && reader.at_end());
  EXPECT_EQ(groups, (std::vector<std::pair<uint32_t, uint32_t>>{{2, 3}, {6, 2}}));
}

TEST(Features, WithoutGroupsThereIsNoSection) {
  EXPECT_FALSE(section(events_of_groups({-1, -1, 3}), stream::kFeatureGroupDescription).has_value());
}

TEST(Features, BranchStacksAreMarked) {
  auto events = events_of_groups({-1, -1});
  EXPECT_FALSE(section(events, stream::kFeatureBranchStack).has_value());
  events[1].attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK;
  EXPECT_EQ(section(events, stream::kFeatureBranchStack), "");
}

}  // namespace
}  // namespace tephra::collect
