#include "objects/perf_map.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tephra::objects {
namespace {

std::vector<std::string> read(std::string_view text, uint64_t* refused = nullptr) {
  PerfMapReader reader(text);
  PerfMapEntry entry;
  std::vector<std::string> out;
  while (reader.next(entry)) {
    out.push_back(std::to_string(entry.start) + "+" + std::to_string(entry.size) + " " + std::string(entry.name));
  }
  if (refused != nullptr) *refused = reader.refused();
  return out;
}

TEST(PerfMap, TakesTheFormsThatRuntimesWrite) {
  const std::vector<std::string> expected{"16+1 a b", "16+1 a b", "16+1 a b", "16+1 a b", "16+1 a b"};
  EXPECT_EQ(read("10 1 a b\n0x10 0x1 a b\r\n0000000000000010\t1\ta b \n 10 1 a b\n\n0X10 0X1 a b"), expected);
  EXPECT_EQ(read("00007FB061490018 48 stub<1> Allocate<X>\n")[0], std::to_string(0x7FB061490018) + "+72 stub<1> Allocate<X>");
}

TEST(PerfMap, CountsWhatIsNoLine) {
  uint64_t refused = 0;
  EXPECT_TRUE(
      read("x 1 a\n10 y a\n10 1\n10 1 \n10 0 a\nffffffffffffffff 2 a\n10\n11111111111111111 1 a\n", &refused).empty());
  EXPECT_EQ(refused, 8u);
  EXPECT_EQ(read(std::string_view("10 1 a\0b\n", 9)), std::vector<std::string>{"16+1 a"});
  EXPECT_TRUE(read(std::string(1 << 20, '\0')).empty());
}

}  // namespace
}  // namespace tephra::objects
