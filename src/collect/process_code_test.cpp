#include "collect/process_code.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

namespace tephra::collect {
namespace {

TEST(ProcessCode, FindsTheExecutablePieces) {
  const auto found = parse_code_mappings(
      "55d000000000-55d000001000 r--p 00000000 08:01 42 /bin/x\n"
      "55d000001000-55d000002000 r-xp 00001000 08:01 42 /bin/x\n"
      "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
      "7f0000002000-7f0000003000 r-xs 00000000 00:05 9 /memfd:jit (deleted)\n"
      "7ffc00000000-7ffc00002000 r-xp 00000000 00:00 0 [vdso]\n"
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n");
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].start, 0x55d000001000u);
  EXPECT_EQ(found[0].offset, 0x1000u);
  EXPECT_EQ(found[0].inode, 42u);
  EXPECT_EQ(found[0].kind, CodeMapping::Kind::kFile);
  EXPECT_EQ(found[1].kind, CodeMapping::Kind::kGenerated);
  EXPECT_EQ(found[2].kind, CodeMapping::Kind::kFile);
  EXPECT_EQ(found[3].kind, CodeMapping::Kind::kVdso);
}

TEST(ProcessCode, ReadsMarksBehindAnyName) {
  ProcessCode code;
  const std::string fields = "S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 260 27 280 29";
  ASSERT_TRUE(parse_program_marks("12 (a) b ) " + fields, code));
  EXPECT_EQ(code.start_code, 260u);
  EXPECT_EQ(code.start_stack, 280u);
  for (const char* bad : {"", "12", "12 (x", "12 (x)", "12 (x) S 1 2 3"}) {
    ProcessCode none;
    EXPECT_FALSE(parse_program_marks(bad, none)) << bad;
  }
}

TEST(ProcessCode, ReadsItself) {
  const auto own = read_process_code(::getpid(), ::getpid());
  ASSERT_TRUE(own);
  EXPECT_NE(own->start_stack, 0u);
  EXPECT_TRUE(std::is_sorted(own->mappings.begin(), own->mappings.end(),
                             [](const auto& a, const auto& b) { return a.start < b.start; }));
  EXPECT_TRUE(std::any_of(own->mappings.begin(), own->mappings.end(),
                          [](const auto& each) { return each.kind == CodeMapping::Kind::kVdso; }));
  EXPECT_FALSE(read_process_code(0x7ffffff0, 0x7ffffff0));
}

}  // namespace
}  // namespace tephra::collect
