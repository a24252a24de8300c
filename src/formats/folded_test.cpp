#include "formats/folded.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "base/fixtures_for_tests.h"
#include "model/profile_assembler.h"
#include "stream/profile_builder.h"
#include "stream/random_recording_for_tests.h"

namespace tephra::formats {
namespace {

using model::Reason;

model::Profile read(std::string_view text) {
  auto profile = kFolded.read(base::as_bytes(text));
  EXPECT_TRUE(profile.ok());
  return std::move(profile).value();
}

std::string round_trip(std::string_view text) { return write_folded(read(text), {}); }

bool sniff(std::string_view text) { return kFolded.refusal(base::as_bytes(text)).empty(); }

// The sum of the numbers at the ends of lines.
uint64_t sum(const std::string& text) {
  uint64_t total = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) total += std::stoull(line.substr(line.rfind(' ') + 1));
  return total;
}

TEST(Folded, LinesAreStacksWithACount) {
  const auto profile = read("prog;main;work 3\nprog;main 2\n");
  ASSERT_EQ(profile.samples.size(), 2u);
  EXPECT_EQ(model::totals(profile), (model::Totals{5, 5}));
  const auto stack = profile.stacks[profile.samples.stack[0]];
  EXPECT_EQ(profile.function_name(stack.frame), "work");
  EXPECT_EQ(profile.function_name(profile.stacks[stack.parent].frame), "main");
  // Stacks that begin alike share their beginning.
  EXPECT_EQ(profile.samples.stack[1], stack.parent);
  EXPECT_EQ(profile.facts.format, "folded");
  EXPECT_EQ(profile.facts.engine, "imported");
}

TEST(Folded, StacksThatCountNothingAreStacks) {
  EXPECT_TRUE(sniff("main;work 0\nmain;wait 0\n"));
  EXPECT_FALSE(sniff("7ffd1000-7ffd2000 rw-p 00000000 00:00 0\n"));
}

TEST(Folded, LinesOfTheSameStackAreOneRow) {
  const auto profile = read("a;b 3\na;b 4\na;c 1\na;b 2\n");
  EXPECT_EQ(profile.samples.count, (std::vector<uint64_t>{9, 1}));
  const auto pairs = read("a;b 3 4\na;c 1 1\na;b 2 5\n");
  EXPECT_EQ(pairs.samples.count, (std::vector<uint64_t>{5, 9, 1, 1}));
  EXPECT_EQ(pairs.samples.value, pairs.samples.count);
}

TEST(Folded, LinesKeepTheirOrderWhereAskedFor) {
  const std::string_view text = "a;b 7\na;c 1\na;b 2\na 1\na;b;c 3\na;bc 4\n";
  stream::BuildOptions options;
  options.keep_every_sample = true;
  const auto profile = read_profile(base::as_bytes(text), "chart.folded", options);
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(profile->samples.count, (std::vector<uint64_t>{7, 1, 2, 1, 3, 4}));
  EXPECT_EQ(profile->samples.stack[0], profile->samples.stack[2]);
  EXPECT_EQ(write_folded(*profile, {}), "a 1\na;b 9\na;b;c 3\na;bc 4\na;c 1\n");
}

TEST(Folded, ManyRowsAreJoinedAndKeepTheirOrder) {
  std::string text;
  constexpr int kStacks = 5000;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kStacks; ++i) text += "main;f" + std::to_string(i) + " " + std::to_string(i) + "\n";
  }
  const auto profile = read(text);
  ASSERT_EQ(profile.samples.size(), size_t{kStacks});
  for (int i = 0; i < kStacks; ++i) {
    const auto row = static_cast<size_t>(i);
    EXPECT_EQ(profile.samples.count[row], static_cast<uint64_t>(3 * i));
    EXPECT_EQ(profile.function_name(profile.stacks[profile.samples.stack[row]].frame), "f" + std::to_string(i));
  }
}

TEST(Folded, SumsBeyond64BitsAreRefused) {
  const auto profile = read_profile(base::as_bytes("a;b 18446744073709551615\na;c 5\n"), "huge.folded", {});
  ASSERT_FALSE(profile.ok());
  EXPECT_EQ(profile.error().why, "its sums exceed 64 bits");
  const auto joined = read_profile(base::as_bytes("a;b 18446744073709551615\na;b 5\n"), "huge.folded", {});
  ASSERT_FALSE(joined.ok());
  EXPECT_EQ(joined.error().why, "its sums exceed 64 bits");
}

TEST(Folded, EventsThatCountNoSamplesAreWrittenByValue) {
  model::ProfileAssembler to;
  const auto thread = to.thread({});
  const auto objects = to.event({to.string("space"), to.string("bytes"), to.string("objects")});
  const auto frame = to.frame({.function = to.function({.name = to.string("f"), .named = true})});
  to.sample({.stack = to.stack({}, frame), .event = objects, .thread = thread, .count = 2, .value = 4096});
  EXPECT_EQ(kFolded.write(std::move(to).finish()).value(), "f 4096\n");
}

TEST(Folded, WhatIsReadIsWrittenAgain) {
  const std::string long_name(200000, 'n');
  for (const std::string& text : std::vector<std::string>{
           "prog;main;work 3\n",
           "prog;std::vector<int, std::allocator<int> >::push_back(int const&) 7\n",
           "java;Lorg/example/Main:.run;[unknown] 1\n",
           "größe;メイン;🔥 12\n",
           "one 18446744073709551615\n",
           "prog;inlined_[i];leaf_[k] 9\n",
           "prog;" + long_name + ";leaf 1\n",
           "prog;12 34 5\n",
           "a;b 1\na;c 2\n",
       }) {
    SCOPED_TRACE(text.substr(0, 60));
    EXPECT_EQ(round_trip(text), text);
    EXPECT_TRUE(sniff(text));
  }
}

TEST(Folded, SpellingsThatMeanTheSame) {
  EXPECT_EQ(round_trip("a;b; 5\n"), "a;b 5\n");
  EXPECT_EQ(round_trip("a;b ; ;; 5\n"), "a;b 5\n");
  EXPECT_EQ(round_trip(";a;;b; 4\n"), "[unknown];a;[unknown];b 4\n");
  EXPECT_EQ(round_trip("a;b 5"), "a;b 5\n");
  EXPECT_EQ(round_trip("a;b 5\r\n"), "a;b 5\n");
  EXPECT_EQ(round_trip("a;b  5  \n"), "a;b 5\n");
  EXPECT_EQ(round_trip("a;b 5.75\n"), "a;b 5\n");
  EXPECT_EQ(round_trip("# a comment\n\n  \na;b 2\na;b 3\n"), "a;b 5\n");
}

TEST(Folded, InlinedFramesAreMarked) {
  const auto profile = read("a;b_[i] 1\n");
  const auto frame = profile.stacks[profile.samples.stack[0]].frame;
  EXPECT_TRUE(profile.frames[frame].inlined);
  EXPECT_EQ(profile.function_name(frame), "b");
}

TEST(Folded, UnknownFramesHaveNoName) {
  const auto profile = read("a;[unknown] 1\na;b 1\n");
  const auto named = [&](size_t row) {
    return profile.functions[profile.frames[profile.stacks[profile.samples.stack[row]].frame].function].named;
  };
  EXPECT_FALSE(named(0));
  EXPECT_TRUE(named(1));
}

TEST(Folded, LinesThatAreNoStacksAreCounted) {
  const auto profile = read(
      "a;b 1\nno number here\n 7\n5\n; 3\na;b -3\na;b 1e5\na;b 99999999999999999999\na;b 12V.43\na;b 1.2.3\na;b 0x10\n"
      "a;b 2\n");
  EXPECT_EQ(profile.quality[Reason::malformed_records], 10u);
  EXPECT_EQ(model::totals(profile).count, 3u);
}

TEST(Folded, LongLinesAreReadOnce) {
  const std::string blanks(1'000'000, ' ');
  EXPECT_EQ(round_trip("a;b" + blanks + "; 7\n"), "a;b 7\n");
  EXPECT_FALSE(sniff("a" + blanks + "b\n"));
}

TEST(Folded, TwoNumbersALineAreTwoEvents) {
  const std::string text = "a;b 0 12\na;c 5 4\n";
  const auto profile = read(text);
  ASSERT_EQ(profile.events.size(), 2u);
  EXPECT_EQ(profile.text(profile.events[model::EventId{0}].name), "before");
  EXPECT_EQ(model::totals(profile, model::EventId{0}).count, 5u);
  EXPECT_EQ(model::totals(profile, model::EventId{1}).count, 16u);
  EXPECT_EQ(write_folded(profile, {}), text);
  // A name that ends in a number makes no second one, unless all lines have it.
  EXPECT_EQ(read("a;b 1 2\na;c 3\n").events.size(), 1u);
  // Found by fuzzing: a frame that is a number.
  EXPECT_EQ(read("a; 4 5\n").events.size(), 1u);
}

TEST(Folded, ReadsTextOfOtherSystems) {
  EXPECT_EQ(write_folded(read("\xef\xbb\xbf"
                              "a;b 1\r\na;c 2\r\n"),
                         {}),
            "a;b 1\na;c 2\n");
  EXPECT_EQ(write_folded(read(std::string_view("\xff\xfe"
                                               "a\0;\0b\0 \0"
                                               "1\0\n\0",
                                               14)),
                         {}),
            "a;b 1\n");
}

TEST(Folded, IsToldFromOtherText) {
  EXPECT_TRUE(sniff("main;work 3\n"));
  EXPECT_TRUE(sniff("# comment\nmain;work 3"));
  // A bad line among good ones is counted when read.
  EXPECT_TRUE(sniff("a;b 1\na;c 2\nTHIS IS A BAD LINE\na;d 3\na;e 4\n"));
  EXPECT_FALSE(sniff(""));
  EXPECT_FALSE(sniff("\n\n"));
  EXPECT_FALSE(sniff("# only a comment\n"));
  EXPECT_FALSE(sniff("Dear reader,\nthis is a text with 3\nlines of prose, and more to come.\n"));
  EXPECT_FALSE(sniff("    1   10000000: 1 2 3\n    2   20000000: 4 5\n"));
  EXPECT_FALSE(sniff("{\"json\": 1}\n"));
  EXPECT_FALSE(sniff("<svg width=\"1200\">\n</svg>\n"));
  EXPECT_FALSE(sniff("prog 1234 5.678901:     250000 cpu-clock: \n\t    55d0 main+0x10 (/bin/prog)\n\n"));
  EXPECT_FALSE(sniff(std::string_view("a;b 1\n\0binary", 13)));
  EXPECT_FALSE(sniff("PERFILE2"));
  EXPECT_FALSE(sniff("55d0-55d1 r--p 00000000 00:00 0\n55d2-55d3 r-xp 00000000 00:00 0\n"));
}

TEST(FoldedFixtures, AreToldFromOtherText) {
  namespace fs = std::filesystem;
  const fs::path fixtures = base::fixtures("");
  if (!fs::exists(fixtures / "folded")) GTEST_SKIP() << "no fixtures: set TEPHRA_FIXTURES";
  size_t folded = 0;
  size_t other = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fixtures)) {
    const std::string name = fs::relative(entry.path(), fixtures).string();
    if (!entry.is_regular_file()) continue;
    const bool stacks = name.find("-collapsed") != std::string::npos || name.find(".foldedstack") != std::string::npos;
    const bool expected = (name.starts_with("folded/") || stacks) && !name.ends_with(".svg");
    const bool unclear = name.starts_with("flamegraph-svg/") || name.starts_with("diff-folded/");
    if (!expected && unclear) continue;
    SCOPED_TRACE(name);
    const auto content = base::FileContent::open(entry.path());
    ASSERT_TRUE(content.ok());
    const auto bytes = content.value().bytes();
    EXPECT_EQ(kFolded.refusal(bytes).empty(), expected && !bytes.empty());
    ++(expected ? folded : other);
    if (!expected) continue;
    const auto profile = kFolded.read(bytes);
    ASSERT_TRUE(profile.ok());
    EXPECT_EQ(profile.value().quality[Reason::malformed_records], 0u);
    // Lines with two numbers are two events.
    uint64_t of_last_event = 0;
    for (size_t i = 0; i < profile.value().samples.size(); ++i) {
      const bool last = profile.value().samples.event[i].value + 1 == profile.value().events.size();
      if (last) of_last_event += profile.value().samples.count[i];
    }
    EXPECT_EQ(of_last_event, sum(write_folded(*profile, {})));
  }
  EXPECT_GT(folded, 60u);
  EXPECT_GT(other, 150u);
}

TEST(FoldedFixtures, TwoNumbersALineAreWrittenBack) {
  namespace fs = std::filesystem;
  const fs::path fixtures = base::fixtures("");
  if (!fs::exists(fixtures / "diff-folded")) GTEST_SKIP() << "no fixtures: set TEPHRA_FIXTURES";
  for (const std::string name : {"default", "normalize"}) {
    const auto content = base::FileContent::open(fixtures / "diff-folded/jonhoo-inferno/results" / (name + ".txt"));
    ASSERT_TRUE(content.ok());
    const auto profile = kFolded.read(content.value().bytes());
    ASSERT_TRUE(profile.ok());
    const std::string written = write_folded(*profile, {});
    // The order of lines is free.
    std::string_view text = base::as_text(content.value().bytes());
    EXPECT_EQ(written.size(), text.size());
    while (!text.empty()) {
      const std::string line(text.substr(0, text.find('\n') + 1));
      text.remove_prefix(line.size());
      EXPECT_NE(written.find(line), std::string::npos) << line;
    }
  }
}

// Names with what separates frames, lines or numbers do not break the line.
// Found by fuzzing: a control character must not become part of a mark.
TEST(Folded, AMarkIsNotMadeOfOddCharacters) {
  using namespace std::string_view_literals;
  const auto profile = kFolded.read(base::as_bytes("prog;a\0[i];b 1\n"sv));
  ASSERT_TRUE(profile.ok());
  const std::string text = write_folded(*profile, {});
  EXPECT_EQ(text, "prog;a?[i];b 1\n");
  EXPECT_EQ(write_folded(*kFolded.read(base::as_bytes(text)), {}), text);
}

TEST(Folded, OddNamesStayInTheirFrame) {
  model::ProfileAssembler assembler;
  const auto event = assembler.event({assembler.string("e"), assembler.string("u")});
  const auto add = [&](std::string_view comm, std::vector<std::string_view> names, uint64_t count) {
    model::StackId stack;
    for (const auto name : names) {
      const auto function = assembler.function({.name = assembler.string(name), .named = true});
      stack = assembler.stack(stack, assembler.frame({.function = function}));
    }
    const auto thread = assembler.thread({1, 1, assembler.string(comm)});
    assembler.sample({.stack = stack, .event = event, .thread = thread, .count = count, .value = count * 10});
  };
  add("my prog", {"a;b", "new\nline", "tab\there", "trailing;"}, 1);
  add("my prog", {"ends in 5", "x 7"}, 2);
  add("", {}, 3);
  add("comm only", {}, 4);
  add("", {"", "after nothing"}, 5);
  add("#1 worker", {"f"}, 6);
  const auto profile = std::move(assembler).finish();
  const std::string text = write_folded(profile, {});
  EXPECT_EQ(
      text,
      "[no stack] 3\n[unknown];after nothing 5\n_1_worker;f 6\ncomm_only 4\nmy_prog;a:b;new?line;tab?here;trailing: 1\n"
      "my_prog;ends in 5;x 7 2\n");
  const auto again = read(text);
  EXPECT_EQ(model::totals(again).count, 21u);
  EXPECT_EQ(again.quality[Reason::malformed_records], 0u);
  EXPECT_EQ(write_folded(again, {}), text);
  EXPECT_EQ(sum(write_folded(profile, {.by_value = true})), 210u);
}

TEST(Folded, OptionsAddWhoAndWhat) {
  model::ProfileAssembler assembler;
  const auto event = assembler.event({assembler.string("e"), assembler.string("u")});
  const auto frame = [&](std::string_view name, model::CodeKind kind) {
    const auto function = assembler.function({.name = assembler.string(name), .named = true});
    return assembler.frame({.mapping = assembler.mapping({.kind = kind}), .function = function});
  };
  auto stack = assembler.stack({}, frame("main", model::CodeKind::kFile));
  stack = assembler.stack(stack, frame("jitted", model::CodeKind::kAnonymous));
  stack = assembler.stack(stack, frame("read", model::CodeKind::kKernel));
  const auto thread = assembler.thread({10, 11, assembler.string("prog")});
  assembler.sample({.stack = stack, .event = event, .thread = thread, .count = 1, .value = 5});
  const auto profile = std::move(assembler).finish();
  EXPECT_EQ(write_folded(profile, {}), "prog;main;jitted;read 1\n");
  EXPECT_EQ(write_folded(profile, {.pid = true}), "prog-10;main;jitted;read 1\n");
  EXPECT_EQ(write_folded(profile, {.tid = true}), "prog-10/11;main;jitted;read 1\n");
  EXPECT_EQ(write_folded(profile, {.kernel = true, .jit = true}), "prog;main;jitted_[j];read_[k] 1\n");
  EXPECT_EQ(write_folded(profile, {.by_value = true}), "prog;main;jitted;read 5\n");
}

TEST(Folded, SumsAreThoseOfTheRecording) {
  for (uint32_t seed = 1; seed < 20; ++seed) {
    const auto test = stream::random_recording({.seed = seed, .samples = 300, .events = 1 + seed % 3});
    const auto profile = stream::build_profile(test.recording(), {});
    for (const bool tid : {false, true}) {
      EXPECT_EQ(sum(write_folded(profile, {.tid = tid})), test.samples());
      EXPECT_EQ(sum(write_folded(profile, {.tid = tid, .by_value = true})), test.value());
    }
    EXPECT_EQ(model::totals(read(write_folded(profile, {}))).count, test.samples());
  }
}

TEST(Formats, ContentDecidesTheFormat) {
  const auto folded = read_profile(base::as_bytes("a;b 1\n"), "name", {});
  ASSERT_TRUE(folded.ok());
  EXPECT_EQ(folded.value().facts.format, "folded");
  const auto neither = read_profile(base::as_bytes("Some text, not a profile.\n"), "notes.txt", {});
  ASSERT_FALSE(neither.ok());
  EXPECT_NE(neither.error().message().find("notes.txt"), std::string::npos);
  for (const std::string_view tried : {"perf.data: ", "pprof: ", "folded: "}) {
    EXPECT_NE(neither.error().message().find(tried), std::string::npos) << tried;
  }
  EXPECT_NE(read_profile({}, "nothing", {}).error().message().find("empty"), std::string::npos);
  const auto damaged = read_profile(base::as_bytes("PERFILE2........"), "broken.data", {});
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.error().on, "broken.data");
  EXPECT_EQ(find_format("folded"), &kFolded);
  EXPECT_EQ(find_format("none"), nullptr);
}

}  // namespace
}  // namespace tephra::formats
