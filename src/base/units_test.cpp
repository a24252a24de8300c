#include "base/units.h"

#include <gtest/gtest.h>

namespace tephra::base {
namespace {

TEST(Units, SeparatorsStandAtEveryThirdDigit) {
  EXPECT_EQ(with_separators(0), "0");
  EXPECT_EQ(with_separators(999), "999");
  EXPECT_EQ(with_separators(1000), "1,000");
  EXPECT_EQ(with_separators(1234567), "1,234,567");
  EXPECT_EQ(with_separators(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(Units, PercentOfNothingIsZero) {
  EXPECT_EQ(percent(0, 0), "0.00%");
  EXPECT_EQ(percent(1, 3), "33.33%");
  EXPECT_EQ(percent(UINT64_MAX, UINT64_MAX), "100.00%");
}

TEST(Units, BytesKeepThreeDigitsAndNeverRoundToAFourth) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(24536678), "23.4 MiB");
  EXPECT_EQ(bytes_text(1048575), "1.00 MiB");
  EXPECT_EQ(bytes_text(UINT64_MAX), "16.0 EiB");
}

TEST(Units, DurationsChooseTheirUnit) {
  EXPECT_EQ(duration_text(0), "0 ns");
  EXPECT_EQ(duration_text(999), "999 ns");
  EXPECT_EQ(duration_text(1250), "1.25 us");
  EXPECT_EQ(duration_text(12'000'000), "12.0 ms");
  EXPECT_EQ(duration_text(999'600'000), "1.00 s");
  EXPECT_EQ(duration_text(3'400'000'000), "3.40 s");
  EXPECT_EQ(duration_text(125'000'000'000), "2m 05s");
  EXPECT_EQ(duration_text(11'220'000'000'000), "3h 07m");
}

TEST(Units, QuantityFollowsTheUnit) {
  EXPECT_EQ(quantity(2048, "bytes"), "2.00 KiB");
  EXPECT_EQ(quantity(2048, "ns"), "2.05 us");
  EXPECT_EQ(quantity(2048, "count"), "2,048");
}

TEST(Units, ParsesSizes) {
  EXPECT_EQ(*parse_size("0B"), 0u);
  EXPECT_EQ(*parse_size("512B"), 512u);
  EXPECT_EQ(*parse_size("10K"), 10240u);
  EXPECT_EQ(*parse_size("10M"), 10u << 20);
  EXPECT_EQ(*parse_size("17179869183G"), 17179869183u * (uint64_t{1} << 30));
  for (const char* wrong : {"", "M", "10", "10m", "10MB", "1.5M", "-1M", "+1M", " 1M", "1 M", "17179869184G",
                            "99999999999999999999B", "0x10K"}) {
    EXPECT_FALSE(parse_size(wrong).ok()) << wrong;
  }
  EXPECT_EQ(parse_size("10").error().kind, Error::Kind::kUsage);
}

TEST(Units, ParsesDurations) {
  EXPECT_EQ(*parse_duration("5s"), 5.0);
  EXPECT_EQ(*parse_duration("0.5s"), 0.5);
  EXPECT_EQ(*parse_duration("10m"), 600.0);
  EXPECT_EQ(*parse_duration("1h"), 3600.0);
  EXPECT_EQ(*parse_duration("2d"), 172800.0);
  for (const char* wrong : {"", "s", "5", "5M", "5ms", "0s", "-5s", "infs", "nans", "1e308d", "5 s", " 5s"}) {
    EXPECT_FALSE(parse_duration(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace tephra::base
