#include "model/string_table.h"

#include <gtest/gtest.h>

#include <string>

namespace tephra::model {
namespace {

std::string text_of(uint32_t number) { return std::string(number % 40, 'x') + std::to_string(number); }

StringTable table_of(uint32_t count) {
  StringTable table;
  for (uint32_t i = 1; i <= count; ++i) EXPECT_EQ(table.add(text_of(i)), StringId{i});
  return table;
}

void expect_all(const StringTable& table, uint32_t count) {
  ASSERT_EQ(table.size(), count + 1);
  EXPECT_EQ(table[StringId{}], "");
  for (uint32_t i = 1; i <= count; ++i) {
    EXPECT_EQ(table[StringId{i}], text_of(i));
    EXPECT_EQ(table.find(text_of(i)), StringId{i});
  }
}

TEST(StringTable, EveryTextOnce) {
  StringTable table = table_of(5000);
  for (uint32_t i = 1; i <= 5000; ++i) EXPECT_EQ(table.add(text_of(i)), StringId{i});
  expect_all(table, 5000);
  EXPECT_FALSE(table.find("none of them"));
}

TEST(StringTable, TheEmptyTextIsNumberZero) {
  StringTable table;
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(table.add(""), StringId{});
  EXPECT_EQ(table.find(""), StringId{});
  EXPECT_EQ(table.size(), 1u);
}

TEST(StringTable, TextsMayHoldZeros) {
  using namespace std::string_view_literals;
  StringTable table;
  const StringId one = table.add("a\0b"sv);
  EXPECT_NE(table.add("a"), one);
  EXPECT_NE(table.add("a\0"sv), one);
  EXPECT_EQ(table.find("a\0b"sv), one);
}

TEST(StringTable, ACopyStandsAlone) {
  StringTable copy;
  copy.add("gone");
  {
    const StringTable table = table_of(300);
    copy = table;
  }
  expect_all(copy, 300);
  EXPECT_FALSE(copy.find("gone"));
  EXPECT_EQ(copy.add("more"), StringId{301});
}

TEST(StringTable, ViewsSurviveAMove) {
  StringTable table = table_of(300);
  const std::string_view view = table[StringId{300}];
  const StringTable moved = std::move(table);
  EXPECT_EQ(view, text_of(300));
  expect_all(moved, 300);
}

}  // namespace
}  // namespace tephra::model
