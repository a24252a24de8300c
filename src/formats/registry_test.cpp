#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/bytes.h"
#include "formats/format.h"

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

}  // namespace
}  // namespace tephra::formats
