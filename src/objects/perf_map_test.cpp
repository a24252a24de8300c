#include "objects/perf_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/fixtures_for_tests.h"

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
  EXPECT_EQ(read("00007FB061490018 48 stub<1> Allocate<X>\n")[0],
            std::to_string(0x7FB061490018) + "+72 stub<1> Allocate<X>");
}

TEST(PerfMap, CountsWhatIsNoLine) {
  uint64_t refused = 0;
  EXPECT_TRUE(
      read("x 1 a\n10 y a\n10 1\n10 1 \n10 0 a\nffffffffffffffff 2 a\n10\n11111111111111111 1 a\n", &refused).empty());
  EXPECT_EQ(refused, 8u);
  EXPECT_EQ(read(std::string_view("10 1 a\0b\n", 9)), std::vector<std::string>{"16+1 a"});
  EXPECT_TRUE(read(std::string(1 << 20, '\0')).empty());
}

// .NET's names have blanks, brackets and the tier of the compiler behind them. Counts are of the files' own lines.
TEST(PerfMap, ReadsMapsOfDotNet) {
  const std::string folder = base::fixtures("perf-map/DataDog-ddprof/");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no fixtures at " << folder;
  struct Expected {
    const char* file;
    size_t lines;
    size_t optimized_tier1;
    size_t quick_jitted;
    std::string some;
  };
  const std::string in_42 = std::to_string(0x7FB06149E6A0) +
                            "+432 int32 [System.Private.CoreLib] System.SpanHelpers::IndexOf(char&,char,int32)"
                            "[OptimizedTier1]";
  const std::string in_8 = std::to_string(0x7FA12B406AA0) +
                           "+2613 instance void [Datadog.Trace] "
                           "Datadog.Trace.Vendors.Newtonsoft.Json.JsonTextReader::ReadStringIntoBuffer(char)"
                           "[OptimizedTier1OSR]";
  for (const Expected& expected :
       {Expected{"perf-42.map", 2268, 96, 63, in_42}, Expected{"perf-8.map", 33206, 5278, 6043, in_8}}) {
    const auto content = base::FileContent::open(folder + expected.file);
    ASSERT_TRUE(content) << expected.file;
    uint64_t refused = 1;
    const std::vector<std::string> entries = read(base::as_text(content->bytes()), &refused);
    EXPECT_EQ(entries.size(), expected.lines) << expected.file;
    EXPECT_EQ(refused, 0u) << expected.file;
    const auto ending = [&entries](std::string_view end) {
      return static_cast<size_t>(
          std::ranges::count_if(entries, [end](const auto& entry) { return entry.ends_with(end); }));
    };
    EXPECT_EQ(ending("[OptimizedTier1]"), expected.optimized_tier1) << expected.file;
    EXPECT_EQ(ending("[QuickJitted]"), expected.quick_jitted) << expected.file;
    EXPECT_EQ(std::ranges::count(entries, expected.some), 1) << expected.file;
  }
}

TEST(PerfMap, KeepsWhatDotNetPutsBehindNames) {
  EXPECT_EQ(
      read("00007FB061490018 2a instance void [System.Private.CoreLib] System.String::.ctor(char[])[PreJIT]\n"
           "00007FB061490100 10 bool [My App] A/<>c__DisplayClass0_0::<Run>b__0(int32, !!0&)[Tier1]\n"),
      (std::vector<std::string>{
          std::to_string(0x7FB061490018) +
              "+42 instance void [System.Private.CoreLib] System.String::.ctor(char[])[PreJIT]",
          std::to_string(0x7FB061490100) + "+16 bool [My App] A/<>c__DisplayClass0_0::<Run>b__0(int32, !!0&)[Tier1]"}));
}

}  // namespace
}  // namespace tephra::objects
