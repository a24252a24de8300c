#include "formats/jit_notes.h"

#include <gtest/gtest.h>

namespace tephra::formats {
namespace {

std::string error_of(std::string_view text) {
  const auto profile = read_profile(base::as_bytes(text), "x", {});
  EXPECT_FALSE(profile.ok());
  return profile.ok() ? "" : profile.error().message();
}

TEST(JitNotes, AreNamedForWhatTheyAre) {
  EXPECT_NE(error_of(std::string_view("DTiJ\1\0\0\0", 8)).find("it is a jitdump"), std::string::npos);
  EXPECT_NE(error_of("7f1e0c001000 1a0 LazyCompile:~f a.js:1\n7f1e0c0011a0 20 g\n").find("it is a perf map"),
            std::string::npos);
  EXPECT_NE(error_of("0x7f1e0c001000 0x1a0 f").find("docs/jit.md"), std::string::npos);
}

TEST(JitNotes, OtherTextIsNone) {
  for (const std::string_view text : {"", "ffffffff81000000 T _text\n", "a;b 3\n", "7f00 10\n", "7f00 10 \n",
                                      "00400000-00452000 r-xp 00000000 08:02 1 /x\n"}) {
    EXPECT_NE(kPerfMap.refusal(base::as_bytes(text)), "") << text;
  }
}

}  // namespace
}  // namespace tephra::formats
