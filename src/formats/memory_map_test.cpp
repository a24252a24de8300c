#include "formats/memory_map.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace tephra::formats {
namespace {

std::string described(std::string_view text) {
  std::string out;
  for (const MappedRange& range : read_memory_map(text)) {
    out += fmt::format("{:x}-{:x}@{:x} {} {}\n", range.start, range.limit, range.offset, range.path, range.build_id);
  }
  return out;
}

TEST(MemoryMapTest, ReadsTheKernelsLines) {
  EXPECT_EQ(described("55c281f92000-55c282113000 r--p 00000000 00:11 4891588    /usr/local/bin/prog\n"
                      "55c282113000-55c2831c8000 r-xp 00181000 00:11 4891588    /usr/local/bin/prog\n"
                      "7f5e4a3e1000-7f5e4a4e1000 ---p 00000000 00:00 0\n"
                      "7f5e4b000000-7f5e4b100000 r-xp 00001000 08:01 77 /lib/with a blank.so\n"),
            "55c282113000-55c2831c8000@181000 /usr/local/bin/prog \n"
            "7f5e4b000000-7f5e4b100000@1000 /lib/with a blank.so \n");
}

TEST(MemoryMapTest, ReadsTheShortForm) {
  EXPECT_EQ(
      described("  00400000-00fcb000: /home/prog\n  7f00-8000: /lib/a.so (@ff00) abc123\n0x9000-0xa000 r-xp /b\n"),
      "400000-fcb000@0 /home/prog \n7f00-8000@ff00 /lib/a.so abc123\n9000-a000@0 /b \n");
}

TEST(MemoryMapTest, PutsTheProgramFirst) {
  EXPECT_EQ(described("1000-2000: /lib/libc.so.6\n3000-4000: [vdso]\n5000-6000: /opt/prog\n"),
            "5000-6000@0 /opt/prog \n3000-4000@0 [vdso] \n1000-2000@0 /lib/libc.so.6 \n");
}

TEST(MemoryMapTest, JoinsWhatContinues) {
  EXPECT_EQ(described("1000-2000 r-xp 00000000 08:01 7 /a\n2000-3000 r-xp 00001000 08:01 7 /a\n"), "1000-3000@0 /a \n");
  // Another part of the file is not what follows.
  EXPECT_EQ(described("1000-2000 r-xp 00004000 08:01 7 /a\n2000-3000 r-xp 00009000 08:01 7 /a\n"),
            "1000-2000@4000 /a \n2000-3000@9000 /a \n");
}

TEST(MemoryMapTest, ReplacesNames) {
  EXPECT_EQ(described("build=/releases/7\n1000-2000: $build/prog\n"), "1000-2000@0 /releases/7/prog \n");
  EXPECT_EQ(described("a=$a$a\n1000-2000: $a/prog\n"), "1000-2000@0 $a$a/prog \n");
}

TEST(MemoryMapTest, NamesMakeATextLargerByAFewTimesAtMost) {
  std::string text = "a=" + std::string(4096, 'y') + "\n";
  for (int i = 0; i < 20'000; ++i) text += fmt::format("{:x}-{:x}: $a$a\n", 2 * i, 2 * i + 1);
  size_t size = 0;
  for (const MappedRange& range : read_memory_map(text)) size += range.path.size();
  EXPECT_GT(size, text.size());
  EXPECT_LT(size, 6 * text.size() + (64 << 10));
}

TEST(MemoryMapTest, SkipsLogPrefixesAndOtherLines) {
  EXPECT_EQ(described("I0102 10:11:12.123 77 file.cc:12] 1000-2000: /prog\nsomething else\n\nffff\n"),
            "1000-2000@0 /prog \n");
}

TEST(MemoryMapTest, BeginsOldProgramsWhereTheyBegin) {
  EXPECT_EQ(described("00405000-00900000 r-xp 00005000 08:01 7 /prog\n"), "400000-900000@0 /prog \n");
}

TEST(MemoryMapTest, LeavesDeletedOut) {
  EXPECT_EQ(described("1000-2000 r-xp 00000000 08:01 7 /tmp/prog (deleted)\n"), "1000-2000@0 /tmp/prog \n");
}

// Names that stand for long texts, used often.
TEST(MemoryMapTest, DoesNotGrowWithoutBound) {
  std::string text = "a=" + std::string(100'000, 'x') + "\n";
  for (int i = 0; i < 100; ++i) {
    text += "1000-2000: /";
    for (int k = 0; k < 1000; ++k) text += "$a";
    text += "\n";
  }
  size_t bytes = 0;
  for (const MappedRange& range : read_memory_map(text)) bytes += range.path.size();
  EXPECT_LT(bytes, size_t{16} << 20);
}

}  // namespace
}  // namespace tephra::formats
