#include "collect/parts.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <string>

namespace tephra::collect {
namespace {

std::string record(size_t size) {
  perf_event_header head{9, 0, static_cast<uint16_t>(size)};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  bytes.resize(size, 'x');
  return bytes;
}

// Cut at `at` into two parts, with an empty one between.
std::vector<iovec> cut(std::string& text, size_t at) {
  return {{text.data(), at}, {text.data(), 0}, {text.data() + at, text.size() - at}};
}

TEST(Parts, RecordsAreCountedWholeWhereverTheyAreSplit) {
  std::string text = record(16) + record(24) + record(8) + record(40);
  for (size_t at = 0; at <= text.size(); ++at) {
    const auto parts = cut(text, at);
    EXPECT_EQ(whole_records_within(parts, UINT64_MAX), 88u) << at;
    EXPECT_EQ(whole_records_within(parts, 88), 88u) << at;
    EXPECT_EQ(whole_records_within(parts, 87), 48u) << at;
    EXPECT_EQ(whole_records_within(parts, 39), 16u) << at;
    EXPECT_EQ(whole_records_within(parts, 15), 0u) << at;
    EXPECT_EQ(whole_records_within(parts, 0), 0u) << at;
  }
  EXPECT_EQ(whole_records_within({}, 100), 0u);
}

TEST(Parts, ABrokenSizeEndsTheCount) {
  std::string text = record(16) + std::string(32, '\0');
  EXPECT_EQ(whole_records_within(cut(text, 5), UINT64_MAX), 16u);
}

TEST(Parts, FrontAndRestAreTheWhole) {
  std::string text = "0123456789";
  for (size_t at = 0; at <= text.size(); ++at) {
    auto parts = cut(text, 4);
    EXPECT_EQ(total_bytes(first_bytes(parts, at)), at);
    EXPECT_EQ(total_bytes(skip_front(parts, at)), text.size() - at);
  }
}

}  // namespace
}  // namespace tephra::collect
