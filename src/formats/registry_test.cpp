#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/bytes.h"
#include "formats/deciding_beginning.h"
#include "formats/format.h"
#include "formats/input_file.h"

namespace tephra::formats {
namespace {

TEST(Registry, NamesAreUniqueAndEveryFormatDoesSomething) {
  std::set<std::string_view> names;
  for (const Format* format : formats()) {
    EXPECT_TRUE(names.insert(format->name).second) << format->name;
    EXPECT_FALSE(format->summary.empty()) << format->name;
    EXPECT_EQ(find_format(format->name), format);
    EXPECT_TRUE(format->refusal != nullptr || format->write != nullptr) << format->name;
    // What is read is recognised.
    if (format->read != nullptr || format->open != nullptr) EXPECT_NE(format->refusal, nullptr) << format->name;
  }
  EXPECT_EQ(find_format("none"), nullptr);
}

TEST(Registry, EndingsAreOfOneFormatEach) {
  std::set<std::string> seen;
  for (const Format* format : formats()) {
    for (std::string_view left = format->endings; !left.empty();) {
      const std::string ending(left.substr(0, left.find(' ')));
      left.remove_prefix(std::min(left.size(), ending.size() + 1));
      EXPECT_TRUE(seen.insert(ending).second) << ending;
      EXPECT_EQ(format_for_path("some/file" + ending), format) << ending;
    }
  }
  EXPECT_EQ(format_for_path("file.unheard-of"), nullptr);
  EXPECT_EQ(format_for_path("file.gz"), nullptr);
}

TEST(Registry, EndingsMayBeInUpperCaseAndHaveGzBehindThem) {
  EXPECT_EQ(format_for_path("X.PB.GZ")->name, "pprof");
  EXPECT_EQ(format_for_path("x.pprof.gz")->name, "pprof");
  EXPECT_EQ(format_for_path("x.folded.gz")->name, "folded");
  EXPECT_EQ(format_for_path("x.Firefox.JSON.Gz")->name, "firefox");
  EXPECT_EQ(format_for_path("x.json.gz")->name, "json");
  EXPECT_EQ(format_for_path("x.folded.gz.gz"), nullptr);
}

TEST(Registry, WhatFitsNoFormatIsRefusedWithTheReasonOfEach) {
  for (const std::string& text : {std::string("hello\n"), std::string(100, '\0'), std::string("{\"a\": 1}")}) {
    const auto found = recognise(base::as_bytes(text), "some.file");
    ASSERT_FALSE(found.ok()) << text;
    for (const Format* format : formats()) {
      if (format->refusal == nullptr) continue;
      EXPECT_NE(found.error().why.find(std::string(format->name) + ": "), std::string::npos) << found.error().why;
    }
  }
  EXPECT_EQ(recognise({}, "some.file").error().why, "the file is empty");
}

constexpr size_t kMiB = 1 << 20;

std::string filled(std::string_view piece) {
  std::string text;
  while (text.size() < kMiB) text += piece;
  text.resize(kMiB);
  return text;
}

bool decided(const std::string& beginning) { return decides_format(base::as_bytes(beginning)); }

TEST(Registry, TheBeginningDecidesWhereItCan) {
  EXPECT_TRUE(decided(std::string(kMiB, '\0')));
  EXPECT_TRUE(decided(filled("y\n")));
  EXPECT_TRUE(decided(filled("a;b 3\n")));
  EXPECT_TRUE(decided("PERFILE2" + std::string(kMiB - 8, '\0')));
  // What follows may make it a profile.
  EXPECT_FALSE(decided(filled("a;")));
  EXPECT_FALSE(decided(filled(" \n")));
  EXPECT_FALSE(decided(filled("\n{\"a\": [\n")));
  EXPECT_FALSE(decided("\xef\xbb\xbf" + filled("[\n")));
  EXPECT_FALSE(decided(filled("--- heapz 1 ---\nrate = 1\n")));
  EXPECT_FALSE(decided("\xff\xfe" + filled(std::string_view("a\0", 2))));
  // The second field of profile.proto, a sample, of 2 MiB.
  EXPECT_FALSE(decided("\x12\x80\x80\x80\x01" + std::string(kMiB, '\0')));
}

TEST(Registry, WhatNeverEndsIsRefusedByItsBeginning) {
  const auto zeros = InputFile::open("/dev/zero");
  ASSERT_FALSE(zeros.ok());
  EXPECT_NE(zeros.error().message().find("none of the known formats"), std::string::npos);
  EXPECT_EQ(zeros.error().on, "/dev/zero");
}

TEST(Registry, LargeFilesAreToldLikeTheirBeginning) {
  std::string zeros(3 * kMiB, '\0');
  const auto refused = recognise(base::as_bytes(zeros), "zeros");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().why, recognise(base::as_bytes(zeros).first(100), "zeros").error().why);
  std::string folded;
  for (int i = 0; folded.size() < 2 * kMiB; ++i) folded += "main;f" + std::to_string(i) + " 1\n";
  EXPECT_EQ(*recognise(base::as_bytes(folded), "folded"), find_format("folded"));
}

}  // namespace
}  // namespace tephra::formats
