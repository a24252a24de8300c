#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/bytes.h"
#include "base/unpack.h"
#include "formats/deciding_beginning.h"
#include "formats/folded.h"
#include "formats/format.h"
#include "formats/input_file.h"
#include "formats/perf_data.h"
#include "model/profile_assembler.h"
#include "stream/profile_builder.h"

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
    const bool reads = format->read != nullptr || format->open != nullptr;
    EXPECT_TRUE(!reads || format->refusal != nullptr) << format->name;
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

// Two samples of one stack.
model::Profile profile_of(uint64_t value) {
  model::ProfileAssembler to;
  const auto mapping = to.mapping({.kind = model::CodeKind::kImported});
  const auto function = to.function({.name = to.string("f"), .named = true});
  const auto stack = to.stack({}, to.frame({.mapping = mapping, .function = function}));
  const auto event = to.event({to.string("cycles"), to.string("events")});
  const auto thread = to.thread({.pid = 7, .tid = 7, .comm = to.string("prog")});
  for (const uint64_t part : {value / 2, value - value / 2}) {
    to.sample({.stack = stack, .event = event, .thread = thread, .value = part});
  }
  to.facts().engine = model::kEngineImported;
  return std::move(to).finish();
}

TEST(Registry, WhatIsWrittenIsReadHoweverLargeItsNumbersAre) {
  for (const Format* format : formats()) {
    if (format->write == nullptr || (format->read == nullptr && format->open == nullptr)) continue;
    uint64_t largest = 0;
    for (const uint64_t value : {uint64_t{1000}, uint64_t{1} << 50, uint64_t{1} << 59, uint64_t{1} << 60,
                                 uint64_t{1} << 62, uint64_t{1} << 63, UINT64_MAX - 1}) {
      const auto written = format->write(profile_of(value));
      if (!written.ok()) continue;
      largest = value;
      const bool packed = !base::packing_of(base::as_bytes(*written)).empty();
      const auto content = packed ? base::unpack(base::as_bytes(*written), 1 << 20) : written;
      ASSERT_TRUE(content.ok()) << format->name;
      const auto read = read_profile(base::as_bytes(*content), "some.file", {});
      ASSERT_TRUE(read.ok()) << format->name << " of " << value << ": " << read.error().why;
      // Folded stacks hold the counts of these.
      EXPECT_EQ(format == &kFolded ? value : model::totals(*read).value, value) << format->name;
    }
    EXPECT_GE(largest, uint64_t{1} << 59) << format->name;
  }
}

TEST(Registry, SumsOfRecordingsThatExceed64BitsAreRefused) {
  model::Profile profile = profile_of(2);
  profile.samples.value = {uint64_t{1} << 63, uint64_t{1} << 63};
  const auto written = kPerfData.write(profile);
  ASSERT_TRUE(written.ok());
  for (const bool every_sample : {false, true}) {
    stream::BuildOptions options;
    options.keep_every_sample = every_sample;
    const auto read = read_profile(base::as_bytes(*written), "some.data", options);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().why, "its sums exceed 64 bits");
  }
}

TEST(Registry, CountsOfAWrittenRecordingAreSelectedByTheirName) {
  model::Profile profile = profile_of(1000);
  profile.events[model::EventId{0}].counted = profile.strings.add("objects");
  const auto written = kPerfData.write(profile);
  ASSERT_TRUE(written.ok());
  const auto sums_of = [&](const char* event) {
    stream::BuildOptions options;
    options.filter.events = {event};
    return model::totals(read_profile(base::as_bytes(*written), "some.data", options).value());
  };
  EXPECT_EQ(sums_of("cycles"), (model::Totals{2, 1000}));
  EXPECT_EQ(sums_of("objects"), (model::Totals{2, 2}));
  EXPECT_EQ(sums_of("others"), model::Totals{});
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
