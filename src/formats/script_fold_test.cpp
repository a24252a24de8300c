#include "formats/script_fold.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tephra::formats {
namespace {

std::string fold(std::string_view text, ScriptFoldOptions options = {}) { return fold_script(text, options).text; }

constexpr std::string_view kTwo =
    "app 10/11 [000] 1.000001:        500 cycles: \n"
    "\t    1234 leaf+0x4 (/usr/bin/app)\n"
    "\tffffffff81000000 do_it ([kernel.kallsyms])\n"
    "\t    7f00 [unknown] (/usr/lib/libx.so)\n"
    "\n"
    "app 10/12 [001] 1.000002:          7 instructions: \n"
    "\t    1234 leaf+0x4 (/usr/bin/app)\n"
    "\n"
    "app 10/11 [000] 1.000003:        300 cycles: \n"
    "\t    1238 leaf+0x8 (/usr/bin/app)\n"
    "\tffffffff81000000 do_it ([kernel.kallsyms])\n"
    "\t    7f00 [unknown] (/usr/lib/libx.so)\n"
    "\n";

TEST(ScriptFold, SumsPeriodsOfTheFirstEvent) {
  const auto folded = fold_script(kTwo, {});
  EXPECT_EQ(folded.text, "app;[libx.so];do_it;leaf 800\n");
  EXPECT_EQ(folded.event, "cycles");
  EXPECT_TRUE(folded.other_events);
  EXPECT_EQ(folded.samples, 2u);
  EXPECT_EQ(fold(kTwo, {.counts = true}), "app;[libx.so];do_it;leaf 2\n");
  EXPECT_EQ(fold(kTwo, {.event = "instructions"}), "app;leaf 7\n");
  EXPECT_EQ(fold(kTwo, {.event = "none"}), "");
}

TEST(ScriptFold, MarksAndNumbers) {
  EXPECT_EQ(fold(kTwo, {.pid = true}), "app-10;[libx.so];do_it;leaf 800\n");
  EXPECT_EQ(fold(kTwo, {.tid = true}), "app-10/11;[libx.so];do_it;leaf 800\n");
  EXPECT_EQ(fold(kTwo, {.names = {.kernel = true, .jit = true}}), "app;[libx.so];do_it_[k];leaf 800\n");
  EXPECT_EQ(fold(kTwo, {.names = {.addresses = true}}), "app;[libx.so <7f00>];do_it;leaf 800\n");
}

TEST(ScriptFold, NamesAreTidiedAsEveryoneDoes) {
  const auto name = [](std::string_view function, NameRules rules = NameRules::kFlameGraph, bool java = false) {
    return frame_texts({"1", function, "/x"}, {.rules = rules}, java).text;
  };
  EXPECT_EQ(name("f(int, char)"), "f");
  EXPECT_EQ(name("(anonymous namespace)::f(int)"), "");  // "skip process names"
  EXPECT_EQ(name("a::(anonymous namespace)::f(int)"), "a::(anonymous namespace)::f");
  EXPECT_EQ(name("net/http.(*Client).Do"), "net/http.(*Client).Do");
  EXPECT_EQ(name("RegExp:[&<>\\\"\\']"), "RegExp:[&<>\\\\]");
  EXPECT_EQ(name("La/b;.call(La/C;)V", NameRules::kFlameGraph, true), "a/b:.call");
  EXPECT_EQ(name("La/b;.call(La/C;)V"), "La/b:.call");
  EXPECT_EQ(name("a->b->c"), "a;b_[i];c_[i]");
  EXPECT_EQ(name("a->"), "a");
  EXPECT_EQ(name("->a"), ";a_[i]");
  EXPECT_EQ(name("std::function<int (int)>::operator()(int) const"), "std::function<int ");
  EXPECT_EQ(name("std::function<int (int)>::operator()(int) const", NameRules::kInferno),
            "std::function<int (int)>::operator");
  EXPECT_EQ(name("_$LT$T$u20$as$u20$a..B$GT$::f::h0123456789abcdef", NameRules::kInferno), "<T as a::B>::f");
  EXPECT_EQ(name("f::h0123456789abcdef"), "f::h0123456789abcdef");
}

TEST(ScriptFold, InfernoKnowsMoreKernelFiles) {
  const auto marked = [](std::string_view module, NameRules rules) {
    return frame_texts({"1", "f", module}, {.rules = rules, .kernel = true}, false).text;
  };
  for (const auto module : {"/boot/vmlinux-5.4", "/lib/modules/x.ko"}) {
    EXPECT_EQ(marked(module, NameRules::kFlameGraph), "f");
    EXPECT_EQ(marked(module, NameRules::kInferno), "f_[k]");
  }
  EXPECT_EQ(marked("[unknown]", NameRules::kInferno), "f");
}

// What that script counts is counted, and what it warns of, too.
TEST(ScriptFold, OddBlocks) {
  // Two event lines without an empty line between: the frames are of the last.
  EXPECT_EQ(fold("aa 1 1.0: 5 e:\n\t1 f (m)\nbb 2 1.0: 6 e:\n\t2 g (m)\n\n"), "bb;g;f 6\n");
  const auto orphan = fold_script("aa 1 1.0: 5 e:\n\nstrange\n\t1 f (m)\n\n", {});
  EXPECT_EQ(orphan.text, "aa 5\n");
  EXPECT_EQ(orphan.unrecognised, 1u);
  EXPECT_EQ(fold("aa 1 1.0: 0 e:\n\t1 f (m)\n\n"), "aa;f 1\n");
  EXPECT_EQ(fold("aa 1 1.0: 99999999999999999999999 e:\n\t1 f (m)\n\n"), "aa;f 18446744073709551615\n");
  EXPECT_EQ(fold("# cmdline : x\naa 1 1.0: 2 e:\n# in between\n\t1 f (m)\n\n"), "aa;f 2\n");
}

// Text that ends without an empty line may have been cut within a stack; inferno takes the sample for whole.
TEST(ScriptFold, TheLastSampleNeedsAnEmptyLine) {
  const std::string_view text = "aa 1 1.0: 5 e:\n\t1 f (m)\n\naa 1 1.0: 6 e:\n\t1 f (m)\n";
  const auto cut = fold_script(text, {});
  EXPECT_EQ(cut.text, "aa;f 5\n");
  EXPECT_TRUE(cut.cut);
  EXPECT_EQ(summary_of(cut).quality[model::Reason::file_truncated], 1u);
  const auto whole = fold_script(text, {.names = {.rules = NameRules::kInferno}});
  EXPECT_EQ(whole.text, "aa;f 11\n");
  EXPECT_FALSE(whole.cut);
  EXPECT_FALSE(fold_script("aa 1 1.0: 5 e:\n\t1 f (m)\n\n# end\n", {}).cut);
}

TEST(ScriptFold, TellsWhereItRecognisesNoFrame) {
  EXPECT_TRUE(fold_script("aa 1 1.0: 5 e:\n\t1 f\n\n", {}).lost_all_frames());
  EXPECT_FALSE(fold_script("aa 1 1.0: 5 e:\n\n", {}).lost_all_frames());
  EXPECT_FALSE(fold_script("aa 1 1.0: 5 e:\n\t1 f (m)\nodd\n\n", {}).lost_all_frames());
}

TEST(ScriptFold, SourceLinesFollowFrames) {
  const std::string_view text =
      "aa 1 1.0: 5 e:\n\t1 f (m)\n  a.cpp:7\n\t2 g (m)\n  m[2]\n\t3 [unknown] ([unknown])\n\n";
  EXPECT_EQ(fold(text, {.srcline = true}), "aa;[unknown];g:m;f:a.cpp:7 5\n");
}

TEST(ScriptFold, LongLinesAreReadOnce) {
  const std::string brackets(2'000'000, '[');
  const std::string frame = "aa 1 1.0: 5 e:\n\t1 f (m)\n  ";
  EXPECT_EQ(fold(frame + "m]" + brackets + "\n\n", {.srcline = true}), "aa;f:m]" + brackets + " 5\n");
  EXPECT_EQ(fold(frame + "m" + brackets + "2]\n\n", {.srcline = true}), "aa;f:m 5\n");
  const std::string name(4'000'000, 'a');
  EXPECT_EQ(rust_spelling(name + "$LT$::h0123456789abcdef"), name + "<");
}

std::string repeated(std::string_view text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

// As often as its functions are not known, or as there are names before it.
TEST(ScriptFold, LongModulesAndPlacesAreNotRepeatedWhole) {
  constexpr size_t kTimes = 20'000;
  const std::string module(400'000, 'm');
  const std::string head = "aa 1 1.0: 5 e:\n\t1 ";
  const std::string unknown = "[" + std::string(255, 'm') + "]";
  EXPECT_EQ(fold(head + repeated("[unknown]->", kTimes) + "f (/" + module + ")\n\n", {}),
            "aa;" + unknown + repeated(";" + unknown + "_[i]", kTimes - 1) + ";f_[i] 5\n");
  const std::string placed = fold(head + repeated("f->", kTimes) + "f (m)\n  " + module + "\n\n", {.srcline = true});
  EXPECT_TRUE(placed.starts_with("aa;f:" + module + ";f_[i];f_[i]"));
  EXPECT_LT(placed.size(), 2 * module.size());
}

// Longer than the pieces that are read in parallel; every stack is counted once, wherever pieces are cut.
TEST(ScriptFold, LongTextIsReadInPieces) {
  std::string text;
  uint64_t sum = 0;
  for (int i = 0; i < 60'000; ++i) {
    text += "app " + std::to_string(i % 7) + " 1.0: " + std::to_string(i) + " e:\n\t" + std::to_string(i) + " f" +
            std::to_string(i % 5) + "+0x" + std::to_string(i) + " (m)\n\t1 main (m)\n\n";
    if (i % 5 == 3) sum += static_cast<uint64_t>(i);
  }
  ASSERT_GT(text.size(), size_t{3} << 20);
  const auto folded = fold_script(text, {});
  EXPECT_EQ(folded.samples, 60'000u);
  EXPECT_NE(folded.text.find("app;main;f3 " + std::to_string(sum) + "\n"), std::string::npos);
  EXPECT_EQ(std::count(folded.text.begin(), folded.text.end(), '\n'), 5);
}

// What a verdict is made from: samples, and how many frames of their stacks have names.
TEST(ScriptFold, TheSummaryStandsForAllSamples) {
  const model::Profile summary = summary_of(fold_script(kTwo, {}));
  ASSERT_EQ(summary.samples.size(), 1u);
  EXPECT_EQ(summary.samples.count[0], 2u);
  int named = 0;
  int frames = 0;
  for (model::StackId at = summary.samples.stack[0]; at; at = summary.stacks[at].parent) {
    ++frames;
    named += summary.functions[summary.frames[summary.stacks[at].frame].function].named;
  }
  EXPECT_EQ(frames, 3);
  EXPECT_EQ(named, 2);
}

TEST(ScriptFold, KeepsWhatTheTextSaysOfItself) {
  const std::string text =
      "# verdict: poor. 1 samples, 0 % of stacks whole.\n# hostname : box\nprog 1 1.0: 1 cycles: \n\t 10 f (x)\n\n";
  const std::vector<std::string> verdicts{"verdict: poor. 1 samples, 0 % of stacks whole."};
  EXPECT_EQ(summary_of(fold_script(text, {})).facts.comments, verdicts);
}

}  // namespace
}  // namespace tephra::formats
