#include "kernel/glob.h"

#include <gtest/gtest.h>

#include <string>

namespace tephra::kernel {
namespace {

TEST(Glob, StarsQuestionMarksAndSets) {
  EXPECT_TRUE(matches("sched_*", "sched_switch"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("*enter_read", "sys_enter_read"));
  EXPECT_FALSE(matches("*enter_read", "sys_enter_readv"));
  EXPECT_TRUE(matches("s?s*_re*d", "sys_enter_read"));
  EXPECT_TRUE(matches("cpu[0-3x]", "cpu2"));
  EXPECT_TRUE(matches("cpu[0-3x]", "cpux"));
  EXPECT_FALSE(matches("cpu[!0-3]", "cpu2"));
  EXPECT_TRUE(matches("[]]", "]"));
  EXPECT_TRUE(matches("a[b", "a[b")) << "a bracket that is never closed stands for itself";
  EXPECT_FALSE(matches("", "a"));
  EXPECT_TRUE(is_pattern("a*"));
  EXPECT_FALSE(is_pattern("sched_switch"));
}

TEST(Glob, ManyStarsEndSoon) {
  std::string pattern;
  for (int i = 0; i < 40; ++i) pattern += "*a";
  EXPECT_FALSE(matches(pattern + "b", std::string(200, 'a')));
}

}  // namespace
}  // namespace tephra::kernel
