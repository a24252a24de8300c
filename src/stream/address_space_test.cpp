#include "stream/address_space.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tephra::stream {
namespace {

using model::MappingId;

TEST(AddressSpaces, LaterMappingCutsEarlierOne) {
  AddressSpaces spaces;
  const auto first = spaces.map(AddressSpaces::kEmpty, {100, 200, 0, MappingId{1}});
  const auto second = spaces.map(first, {140, 160, 7, MappingId{2}});
  EXPECT_EQ(spaces.find(second, 139)->mapping, MappingId{1});
  EXPECT_EQ(spaces.find(second, 140)->mapping, MappingId{2});
  const MappedRange* tail = spaces.find(second, 160);
  ASSERT_NE(tail, nullptr);
  EXPECT_EQ(tail->mapping, MappingId{1});
  EXPECT_EQ(tail->offset + (160 - tail->start), 60u);
  EXPECT_EQ(spaces.find(second, 200), nullptr);
  // The old state still is what it was.
  EXPECT_EQ(spaces.find(first, 150)->mapping, MappingId{1});
}

// Every state, old and new, answers like a plain table of addresses.
TEST(AddressSpaces, AgreesWithATableOfAddresses) {
  std::mt19937 random(7);
  AddressSpaces spaces;
  std::vector<AddressSpaces::State> states{AddressSpaces::kEmpty};
  std::vector<std::map<uint64_t, std::pair<uint32_t, uint64_t>>> tables{{}};
  for (uint32_t step = 1; step < 400; ++step) {
    const size_t from = random() % states.size();
    const uint64_t start = random() % 90;
    const uint64_t end = start + random() % 30;
    auto table = tables[from];
    for (uint64_t a = start; a < end; ++a) table.erase(a);
    if (random() % 4 == 0) {
      states.push_back(spaces.unmap(states[from], start, end));
    } else {
      for (uint64_t a = start; a < end; ++a) table[a] = {step, 1000 + a - start};
      states.push_back(spaces.map(states[from], {start, end, 1000, MappingId{step}}));
    }
    tables.push_back(std::move(table));
  }
  for (size_t i = 0; i < states.size(); ++i) {
    for (uint64_t a = 0; a < 125; ++a) {
      const MappedRange* found = spaces.find(states[i], a);
      const auto expected = tables[i].find(a);
      ASSERT_EQ(found != nullptr, expected != tables[i].end());
      if (found == nullptr) continue;
      EXPECT_EQ(found->mapping.value, expected->second.first);
      EXPECT_EQ(found->offset + (a - found->start), expected->second.second);
    }
  }
}

TEST(AddressSpaces, FindsWhatIsNextBelow) {
  AddressSpaces spaces;
  auto state = AddressSpaces::kEmpty;
  EXPECT_EQ(spaces.find_below(state, 100), nullptr);
  for (uint32_t i = 1; i <= 50; ++i) state = spaces.map(state, {i * 100, i * 100 + 10, 0, MappingId{i}});
  EXPECT_EQ(spaces.find_below(state, 99), nullptr);
  for (uint32_t i = 1; i <= 50; ++i) {
    for (const uint64_t offset : {0, 9, 10, 99}) {
      const MappedRange* found = spaces.find_below(state, i * 100 + offset);
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(found->mapping.value, i);
    }
  }
  EXPECT_EQ(spaces.find_below(state, UINT64_MAX)->mapping.value, 50u);
}

TEST(AddressSpaces, ReusingAStateGivesTheSameAnswers) {
  AddressSpaces spaces;
  auto state = AddressSpaces::kEmpty;
  for (uint32_t i = 0; i < 1000; ++i) {
    const uint64_t start = (i * 7919u) % 1000 * 16;
    state = spaces.map(state, {start, start + 16, start, MappingId{i + 1}}, i != 0);
  }
  for (uint32_t i = 0; i < 1000; ++i) {
    const uint64_t start = (i * 7919u) % 1000 * 16;
    ASSERT_NE(spaces.find(state, start + 3), nullptr);
    EXPECT_EQ(spaces.find(state, start + 3)->mapping.value, i + 1);
  }
}

}  // namespace
}  // namespace tephra::stream
