#include "analysis/verdict.h"

#include <gtest/gtest.h>

#include <cmath>

#include "abi/walk_end.h"
#include "analysis/profile_for_tests.h"
#include "analysis/told_verdict.h"
#include "analysis/verdict_limits.h"
#include "model/merge.h"
#include "model/profile_assembler.h"
#include "model/reading_notes.h"

namespace tephra::analysis {
namespace {

using model::CodeKind;
using model::Reason;

// One frame of a stack that is judged.
struct Part {
  std::string_view name;
  CodeKind kind = CodeKind::kFile;
  uint8_t facts = 0;
  bool named = true;
};

constexpr Part kStart{"_start", CodeKind::kFile, model::kOutermost};
constexpr Part kWork{"work"};
constexpr Part kKernelEntry{"entry_SYSCALL_64", CodeKind::kKernel};

// Writes profiles to be judged; stacks are outermost first.
class Case {
 public:
  explicit Case(std::string engine = "frame pointers") {
    assembler_.facts().engine = std::move(engine);
    event_ = assembler_.event({assembler_.string("cpu-clock"), assembler_.string("ns")});
  }

  Case& add(uint64_t count, const std::vector<Part>& parts, bool kernel_thread = false,
            int end = TEPHRA_WALK_NOT_TOLD) {
    model::StackId stack;
    for (const Part& part : parts) {
      const auto mapping = assembler_.mapping({.path = assembler_.string("/lib/some.so"), .kind = part.kind});
      const auto function = assembler_.function({.name = assembler_.string(part.name), .named = part.named});
      stack =
          assembler_.stack(stack, assembler_.frame({.mapping = mapping, .facts = part.facts, .function = function}));
    }
    const auto thread = assembler_.thread({1, 1, assembler_.string("prog"), kernel_thread});
    assembler_.sample({.stack = stack,
                       .event = event_,
                       .thread = thread,
                       .count = count,
                       .value = count,
                       .walk_end = static_cast<uint8_t>(end)});
    return *this;
  }
  // A stack that was walked by call-frame rules.
  Case& walked(uint64_t count, const std::vector<Part>& parts, int end) { return add(count, parts, false, end); }
  // `count` samples without fault.
  Case& good(uint64_t count) { return add(count, {kStart, kWork}); }
  model::RecordingFacts& facts() { return assembler_.facts(); }
  model::Quality& quality() { return assembler_.quality(); }
  Verdict judge() { return analysis::judge(std::move(assembler_).finish()); }

 private:
  model::ProfileAssembler assembler_;
  model::EventId event_;
};

bool advises(const Verdict& verdict, std::string_view text) {
  for (const auto& advice : verdict.advice) {
    EXPECT_FALSE(advice.fix.empty());
    if ((advice.problem + " " + advice.fix).find(text) != std::string::npos) return true;
  }
  return false;
}

TEST(TellingVerdicts, OneTakesThePlaceOfAll) {
  std::vector<std::string> comments{"verdict: good. 1 samples.", "a comment", "verdict: poor. 2 samples.",
                                    "verdict: none"};
  replace_verdicts(comments, "verdict: fair. 3 samples.");
  EXPECT_EQ(comments, (std::vector<std::string>{"a comment", "verdict: none", "verdict: fair. 3 samples."}));
}

TEST(Verdict, NothingWrongIsGoodAndNeedsNoAdvice) {
  const auto verdict = Case().good(4950).judge();
  EXPECT_EQ(verdict.grade, Grade::kGood);
  EXPECT_EQ(verdict.samples, 4950u);
  EXPECT_EQ(verdict.stacks_rooted, 1);
  EXPECT_EQ(verdict.frames_named, 1);
  EXPECT_TRUE(verdict.advice.empty());
  EXPECT_TRUE(verdict.reasons.empty());
  EXPECT_EQ(one_line(verdict), "verdict: good. 4,950 samples, 100 % of stacks whole, 100 % of frames named, 0 lost.");
}

TEST(Verdict, RootedIsWhatReachesAnOutermostFrame) {
  EXPECT_EQ(Case().add(1, {kStart, kWork}).judge().stacks_rooted, 1);
  // Beneath kernel frames too.
  EXPECT_EQ(Case().add(1, {kStart, kWork, kKernelEntry}).judge().stacks_rooted, 1);
  // Names prove nothing: a stack may end in main because main's caller was lost.
  EXPECT_EQ(Case().add(1, {{"main"}, kWork}).judge().stacks_rooted, 0);
  EXPECT_EQ(Case().add(1, {{"_start"}, kWork}).judge().stacks_rooted, 0);
  // An outermost frame elsewhere than at the end is no root.
  EXPECT_EQ(Case().add(1, {kWork, kStart}).judge().stacks_rooted, 0);
  EXPECT_EQ(Case().add(1, {}).judge().stacks_rooted, 0);
}

TEST(Verdict, BrokenFramePointersHaveAnotherEngineAsAdvice) {
  const std::string advice = "too early, in some.so These are compiled without frame pointers; record with";
  EXPECT_TRUE(advises(Case().add(1, {{"main"}, kWork}).judge(), advice + " --call-graph bpf or --call-graph dwarf"));
  const auto other = Case("other").add(1, {{"main"}, kWork}).judge();
  EXPECT_TRUE(advises(other, "build with -fno-omit-frame-pointer"));
  EXPECT_FALSE(advises(other, "--call-graph"));
}

TEST(Verdict, TheKernelsEntryIsTheRootOfKernelThreadsAlone) {
  EXPECT_EQ(
      Case().add(1, {{"ret_from_fork", CodeKind::kKernel}, {"kthread", CodeKind::kKernel}}, true).judge().stacks_rooted,
      1);
  const auto verdict = Case().add(1, {kKernelEntry, {"do_syscall_64", CodeKind::kKernel}}).judge();
  EXPECT_EQ(verdict.stacks_rooted, 0);
  EXPECT_EQ(verdict.reasons.at("root_not_reached"), 1u);
}

TEST(Verdict, ImportedStacksAreRootedByName) {
  const Part thread{"prog", CodeKind::kImported};
  const Part start{"_start", CodeKind::kImported};
  const Part main{"main", CodeKind::kImported};
  EXPECT_EQ(Case("imported").add(1, {thread, start, main}).judge().stacks_rooted, 1);
  EXPECT_EQ(Case("imported").add(1, {start, main}).judge().stacks_rooted, 1);
  EXPECT_EQ(Case("imported").add(1, {thread, main, start}).judge().stacks_rooted, 0);
  // What text formats do not tell is not held against them.
  const auto verdict = Case("imported").add(1, {thread, main}).judge();
  EXPECT_EQ(verdict.grade, Grade::kGood);
  EXPECT_TRUE(verdict.advice.empty());
  EXPECT_NE(one_line(verdict).find("imported stacks"), std::string::npos);
}

TEST(Verdict, ALeafWithoutAFrameHidesItsCaller) {
  const Part unsure{"memcpy", CodeKind::kFile, model::kFrameNotSetUp};
  EXPECT_EQ(Case().add(3, {kStart, unsure}).judge().caller_unsure, 3u);
  // The innermost user frame counts, also where the kernel goes on from there.
  EXPECT_EQ(Case().add(3, {kStart, unsure, kKernelEntry}).judge().caller_unsure, 3u);
  // Inside the stack it is told apart.
  const auto inside = Case().add(3, {kStart, unsure, kWork}).judge();
  EXPECT_EQ(inside.caller_unsure, 0u);
  EXPECT_EQ(inside.reasons.at("caller_without_frame"), 3u);
  EXPECT_TRUE(advises(inside, "pass through code without frame pointers"));
  EXPECT_TRUE(advises(inside, "--call-graph bpf or --call-graph dwarf"));
  // An outermost frame has no caller to miss.
  const Part entry{"_start", CodeKind::kFile, model::kOutermost | model::kFrameNotSetUp};
  EXPECT_EQ(Case().add(3, {entry}).judge().caller_unsure, 0u);
  EXPECT_EQ(Case("stack copies").add(3, {kStart, unsure}).judge().caller_unsure, 0u);
  const auto verdict = Case().add(1, {kStart, unsure}).good(3).judge();
  EXPECT_EQ(verdict.reasons.at("leaf_without_frame"), 1u);
  EXPECT_TRUE(advises(verdict, "25.0 % of samples lack the direct caller of the leaf, in some.so"));
  EXPECT_TRUE(advises(verdict, "--call-graph bpf or --call-graph dwarf"));
  EXPECT_NE(one_line(verdict).find("25.0 % without their direct caller"), std::string::npos);
}

TEST(Verdict, NamesAreWeightedBySamples) {
  const Part unnamed{"[unknown]", CodeKind::kFile, 0, false};
  const auto verdict = Case().add(30, {kStart, unnamed}).good(70).judge();
  EXPECT_DOUBLE_EQ(verdict.frames_named, 0.85);
  EXPECT_EQ(verdict.grade, Grade::kFair);
  EXPECT_TRUE(advises(verdict, "15.0 % of frames have no name, in some.so"));
}

TEST(Verdict, UnnamedFramesHaveTheAdviceOfWhatMostOfThemLack) {
  const Part stripped{"[unknown] a", CodeKind::kFile, 0, false};
  const Part away{"[unknown] b", CodeKind::kFile, model::kNotDescribed, false};
  const Part kernel{"[unknown] c", CodeKind::kKernel, 0, false};
  for (const auto& [reason, text] : {std::pair{Reason::file_missing, "not here any more"},
                                     std::pair{Reason::build_id_mismatch, "not those that ran"}}) {
    Case gone;
    gone.add(60, {kStart, away}).add(10, {kStart, stripped}).good(30).quality()[reason] = 60;
    const auto verdict = gone.judge();
    EXPECT_NE(one_line(verdict).find(text), std::string::npos) << one_line(verdict);
    EXPECT_EQ(one_line(verdict).find("Install"), std::string::npos) << one_line(verdict);
    EXPECT_TRUE(advises(verdict, "5.0 % of frames have no name, in some.so Install"));
    Case all;
    all.add(60, {kStart, away}).good(40).quality()[reason] = 60;
    EXPECT_FALSE(advises(all.judge(), "Install"));
  }
  Case hidden;
  hidden.add(60, {kStart, kernel}).good(40).quality()[Reason::kernel_symbols_hidden] = 59;
  const auto verdict = hidden.judge();
  EXPECT_FALSE(advises(verdict, "Install"));
  EXPECT_TRUE(advises(verdict, "kernel.kptr_restrict=0"));
  // A kernel that tells its symbols and has none there.
  EXPECT_TRUE(advises(Case().add(60, {kStart, kernel}).good(40).judge(), "in [kernel] Install"));
}

TEST(Verdict, TheLineTellsOfNamesFromUnprovenFiles) {
  const std::string text = ", 5.5 % of frames named by files that may not be those that ran";
  Case some;
  some.good(100).quality()[Reason::file_unproven] = 11;
  const auto verdict = some.judge();
  EXPECT_NE(one_line(verdict).find(text), std::string::npos) << one_line(verdict);
  EXPECT_EQ(verdict.grade, Grade::kGood);
  Case few;
  few.good(100).quality()[Reason::file_unproven] = 10;
  EXPECT_EQ(one_line(few.judge()).find("may not be those"), std::string::npos);
  Case more_than_all;
  more_than_all.good(100).quality()[Reason::file_unproven] = 1000;
  EXPECT_EQ(more_than_all.judge().names_unproven, 1);
}

// Each figure at its limits: the last that is good, the first that is fair, the first that is poor.
TEST(Verdict, GradesChangeAtTheLimits) {
  const auto grades = [](auto make) { return std::array{make(0).grade, make(1).grade, make(2).grade}; };
  const std::array expected{Grade::kGood, Grade::kFair, Grade::kPoor};
  constexpr uint64_t kSamples = 100000;
  // How many of 100,000 may be bad for the grade, and one more.
  const auto bad = [](double good, double fair, int step) {
    const auto of = [](double share) { return static_cast<uint64_t>(std::llround(share * kSamples)); };
    return step == 0 ? of(good) : step == 1 ? of(good) + 1 : of(fair) + 1;
  };
  EXPECT_EQ(grades([&](int step) {
              const uint64_t count = bad(1 - kGoodLimits.rooted, 1 - kFairLimits.rooted, step);
              return Case().add(count, {kWork, kWork}).good(kSamples - count).judge();
            }),
            expected);
  EXPECT_EQ(grades([&](int step) {
              const uint64_t count = bad(1 - kGoodLimits.named, 1 - kFairLimits.named, step);
              const Part unnamed{"?", CodeKind::kFile, model::kOutermost, false};
              return Case().add(count, {unnamed}).add(kSamples - count, {kStart}).judge();
            }),
            expected);
  EXPECT_EQ(grades([&](int step) {
              const uint64_t count = bad(kGoodLimits.caller_unsure, kFairLimits.caller_unsure, step);
              return Case()
                  .add(count, {kStart, {"f", CodeKind::kFile, model::kFrameNotSetUp}})
                  .good(kSamples - count)
                  .judge();
            }),
            expected);
  const auto with = [&](auto set) {
    return grades([&](int step) {
      Case one;
      set(one.good(kSamples).quality(), step);
      return one.judge();
    });
  };
  EXPECT_EQ(with([&](model::Quality& quality, int step) {
              quality.throttled = bad(kGoodLimits.throttled, kFairLimits.throttled, step);
            }),
            expected);
  EXPECT_EQ(with([&](model::Quality& quality, int step) {
              quality[Reason::depth_limit] = bad(kGoodLimits.truncated, kFairLimits.truncated, step);
            }),
            expected);
  // Losses are judged against samples and losses together.
  EXPECT_EQ(grades([&](int step) {
              const uint64_t count = bad(kGoodLimits.lost, kFairLimits.lost, step);
              Case one;
              one.good(kSamples - count).quality().lost = count;
              return one.judge();
            }),
            expected);
}

TEST(Verdict, AWalkThatReachedTheOutermostFrameIsWhole) {
  const Part undescribed{"begin", CodeKind::kFile, model::kNotDescribed};
  const Part generated{"begin", CodeKind::kJit};
  auto verdict = Case("stack copies")
                     .walked(3, {kStart}, TEPHRA_WALK_OUTERMOST)
                     .walked(2, {undescribed, kWork}, TEPHRA_WALK_OUTERMOST)
                     .walked(1, {generated, kWork}, TEPHRA_WALK_OUTERMOST)
                     .judge();
  EXPECT_EQ(verdict.stacks_rooted, 1);
  EXPECT_TRUE(verdict.stack_ends.empty());
  EXPECT_TRUE(verdict.reasons.empty());
  // One that ended where there is no caller anyway, for want of bytes.
  EXPECT_EQ(Case("stack copies").walked(3, {kStart, kWork}, TEPHRA_WALK_COPY_END).judge().stacks_rooted, 1);
}

TEST(Verdict, AWalkThatEndedWhereThereIsACallerIsNotWhole) {
  const auto verdict = Case("stack copies")
                           .walked(3, {kStart, kWork}, TEPHRA_WALK_OUTERMOST)
                           .walked(1, {kWork}, TEPHRA_WALK_OUTERMOST)
                           .judge();
  EXPECT_EQ(verdict.stacks_rooted, 0.75);
  EXPECT_EQ(verdict.reasons.at("walk_implausible"), 1u);
}

TEST(Verdict, WalksThatEndEarlyAreCountedByReasonAndModule) {
  const auto verdict = Case("stack copies")
                           .walked(6, {kStart, kWork}, TEPHRA_WALK_OUTERMOST)
                           .walked(3, {kWork}, TEPHRA_WALK_COPY_END)
                           .walked(1, {kWork, kWork}, TEPHRA_WALK_NO_FILE)
                           .judge();
  EXPECT_DOUBLE_EQ(verdict.stacks_rooted, 0.6);
  EXPECT_EQ(verdict.reasons.at("stack_copy_too_short"), 3u);
  EXPECT_EQ(verdict.reasons.at("walk_no_file"), 1u);
  EXPECT_EQ(verdict.reasons.at("root_not_reached"), 4u);
  ASSERT_EQ(verdict.stack_ends.size(), 2u);
  EXPECT_EQ(verdict.stack_ends[0].module, "some.so");
  EXPECT_EQ(verdict.stack_ends[0].reason, "stack_copy_too_short");
  EXPECT_EQ(verdict.stack_ends[0].samples, 3u);
  EXPECT_TRUE(advises(verdict, "(--call-graph dwarf,65528) where they were smaller than the most"));
  EXPECT_TRUE(advises(verdict, "where the files that ran are"));
  EXPECT_FALSE(advises(verdict, "-fno-omit-frame-pointer"));
  EXPECT_NE(details(verdict).find("in some.so: stack_copy_too_short"), std::string::npos);
}

TEST(Verdict, EveryEndOfAWalkHasAReasonAndAdvice) {
  for (int end = TEPHRA_WALK_DEPTH; end <= TEPHRA_WALK_LAST_END; ++end) {
    SCOPED_TRACE(end);
    const auto verdict = Case("stack copies").walked(10, {kWork}, static_cast<tephra_walk_end>(end)).judge();
    EXPECT_EQ(verdict.grade, Grade::kPoor);
    ASSERT_EQ(verdict.stack_ends.size(), 1u);
    EXPECT_EQ(verdict.reasons.at(verdict.stack_ends[0].reason), 10u);
    ASSERT_FALSE(verdict.advice.empty());
    EXPECT_NE(verdict.advice[0].problem.find("100 % of samples"), std::string::npos);
  }
}

TEST(Verdict, StacksWithMoreFramesThanAreWalkedNeedAnOption) {
  const auto verdict = Case("call-frame tables in the kernel").walked(10, {kWork}, TEPHRA_WALK_DEPTH).judge();
  EXPECT_TRUE(advises(verdict, "record with more (--max-stack 1024)"));
}

// What frame pointers may hide, a walk does not.
TEST(Verdict, WalkedStacksLackNoCallers) {
  Part unsure = kWork;
  unsure.facts = model::kFrameNotSetUp;
  for (const char* engine : {"stack copies", "call-frame tables in the kernel"}) {
    const auto verdict = Case(engine).walked(3, {kStart, unsure, unsure}, TEPHRA_WALK_OUTERMOST).judge();
    EXPECT_EQ(verdict.caller_unsure, 0u);
    EXPECT_FALSE(verdict.reasons.contains("caller_without_frame"));
    EXPECT_EQ(verdict.grade, Grade::kGood);
  }
}

TEST(Verdict, GuessedCallersAreCountedWithTheirFile) {
  const Part bare{"bare", CodeKind::kFile, model::kNotDescribed};
  constexpr int kGuessed = TEPHRA_WALK_OUTERMOST | TEPHRA_WALK_GUESSED;
  const auto few = Case("stack copies")
                       .walked(96, {kStart, kWork}, TEPHRA_WALK_OUTERMOST)
                       .walked(4, {kStart, bare, kKernelEntry}, kGuessed)
                       .judge();
  EXPECT_EQ(few.reasons.at("caller_guessed"), 4u);
  EXPECT_EQ(few.stacks_rooted, 1);
  EXPECT_EQ(few.grade, Grade::kGood);
  EXPECT_TRUE(advises(few, "4.0 % of samples have a caller that was guessed by frame pointer, in some.so"));
  // A guess may be right, so that even many do not make a profile poor.
  const auto many = Case("stack copies").walked(100, {kStart, bare}, kGuessed).judge();
  EXPECT_EQ(many.grade, Grade::kFair);
  // A stack that ends there has no caller, and what was not walked no guess.
  const auto none = Case("stack copies").walked(1, {bare}, TEPHRA_WALK_OUTERMOST).judge();
  EXPECT_FALSE(none.reasons.contains("caller_guessed"));
}

TEST(Verdict, EveryFaultHasItsAdvice) {
  const std::vector<std::pair<Reason, std::string_view>> faults{
      {Reason::stacks_not_recorded, "Record with -g"},      {Reason::stack_copy_not_unwound, "--call-graph fp"},
      {Reason::depth_limit, "kernel.perf_event_max_stack"}, {Reason::kernel_symbols_hidden, "kernel.kptr_restrict=0"},
      {Reason::kernel_mismatch, "another kernel or boot"},  {Reason::build_id_mismatch, "not those that ran"},
      {Reason::file_missing, "not here any more"},          {Reason::file_truncated, "cut off"},
      {Reason::malformed_records, "could not be read"},     {Reason::unknown_event, "does not describe"},
      {Reason::jit_names_left_out, "not read to the end"},  {Reason::jit_processes_left_out, "60 processes generate"},
  };
  for (const auto& [reason, text] : faults) {
    SCOPED_TRACE(text);
    Case one;
    one.good(100).quality()[reason] = 60;
    const auto verdict = one.judge();
    EXPECT_TRUE(advises(verdict, text));
    EXPECT_EQ(verdict.reasons.at(model::kReasonNames[static_cast<size_t>(reason)]), 60u);
    EXPECT_NE(details(verdict).find(model::kReasonMeanings[static_cast<size_t>(reason)]), std::string::npos);
  }
  Case lossy;
  lossy.good(100).quality().lost = 1234;
  lossy.quality().throttled = 5;
  const auto verdict = lossy.judge();
  EXPECT_TRUE(advises(verdict, "1,234 samples were lost"));
  EXPECT_TRUE(advises(verdict, "stopped sampling 5 times"));
  EXPECT_EQ(verdict.grade, Grade::kPoor);
  EXPECT_NE(one_line(verdict).find("1,234 lost, throttled 5 times. 1,234 samples were lost"), std::string::npos)
      << one_line(verdict);
  EXPECT_TRUE(advises(Case().add(1, {kWork, kWork}).judge(), "ends too early, in some.so"));
  EXPECT_TRUE(advises(Case().add(1, {}).judge(), "ends too early These are"));
}

// What the counts of an event's one sample are said to be.
std::string verdict_on(const std::vector<model::Event>& events, model::ProfileAssembler to) {
  for (const model::Event& event : events) {
    to.sample({.stack = {}, .event = to.event(event), .thread = to.thread({}), .count = 3, .value = 9});
  }
  to.facts().engine = model::kEngineImported;
  return one_line(judge(std::move(to).finish()));
}

TEST(Verdict, SaysWhatIsCountedAndHowUncertainNumbersOfSamplesAlone) {
  model::ProfileAssembler to;
  const auto text = [&](const char* word) { return to.string(word); };
  const model::Event cpu{text("cpu"), text("ns"), {}, false};
  const model::Event inuse{text("inuse_space"), text("bytes"), text("inuse_objects"), false};
  const model::Event alloc{text("alloc_space"), text("bytes"), text("alloc_objects"), false};
  const model::Event spans{text("spans"), text("ns"), {}, true};
  const model::Event time{text("time"), text("ns"), {}, true};
  EXPECT_NE(verdict_on({cpu}, to).find(" 3 samples,"), std::string::npos);
  EXPECT_NE(verdict_on({cpu}, to).find("uncertain by up to 58 points"), std::string::npos);
  const std::vector<std::pair<std::vector<model::Event>, std::string>> cases{
      {{inuse}, " 3 objects,"}, {{inuse, alloc}, " 6 objects,"}, {{spans}, " 3 spans,"},
      {{time}, " 3 rows,"},     {{cpu, spans}, " 6 counts,"},
  };
  for (const auto& [events, words] : cases) {
    const std::string line = verdict_on(events, to);
    EXPECT_NE(line.find(words), std::string::npos) << line;
    EXPECT_EQ(line.find("uncertain"), std::string::npos) << line;
  }
}

// What is wrong with the file itself is never good, however little it is.
// Converting makes nothing better.
TEST(Verdict, IsNoBetterThanThatOfTheOrigin) {
  const std::string poor = "verdict: poor. 10 samples, 12 % of stacks whole. 88 % of samples have no callers: Do it.";
  const std::string fair = "verdict: fair. 10 samples.";
  const std::string good = "verdict: good. 10 samples.";
  const auto judged = [](const std::vector<std::string>& comments, std::string_view engine = model::kEngineImported) {
    Case made{std::string(engine)};
    made.facts().comments = comments;
    return made.good(1000).judge();
  };
  EXPECT_EQ(judged({good}).grade, Grade::kGood);
  EXPECT_EQ(judged({"this is poor", "verdict: poorly"}).grade, Grade::kGood);
  EXPECT_EQ(judged({fair}).grade, Grade::kFair);
  EXPECT_EQ(judged({poor}).grade, Grade::kPoor);
  // Of several that were joined, the worst; what was said before is said again.
  EXPECT_EQ(judged({poor, good}).grade, Grade::kPoor);
  EXPECT_EQ(judged({good, fair}).grade, Grade::kFair);
  const Verdict once = judged({poor});
  ASSERT_EQ(once.advice.size(), 1u);
  EXPECT_EQ(once.advice[0].problem, "what was converted to this was judged poor");
  EXPECT_EQ(one_line(judged({poor, one_line(once)})), one_line(once));
  EXPECT_NE(one_line(once).find("12 % of stacks whole"), std::string::npos);
  EXPECT_EQ(one_line(judged({"verdict: poor. a\nb"})).find('\n'), std::string::npos);
  // It is repeated as it was said first, however often.
  EXPECT_EQ(one_line(judged({one_line(once)})), one_line(once));
  // Where profiles were joined, the worst counts, also where their stacks were taken in several ways.
  EXPECT_EQ(judged({good, poor}).advice[0].problem, "some of what was joined was judged poor");
  EXPECT_EQ(judged({good, one_line(once)}).advice[0].problem, "some of what was joined was judged poor");
  EXPECT_EQ(judged({good, poor}, model::kEngineSeveral).grade, Grade::kPoor);
  // What holds all that is judged is judged anew.
  EXPECT_EQ(judged({poor}, model::kEngineFramePointers).grade, Grade::kGood);
}

TEST(Verdict, ADamagedFileIsAtBestFair) {
  for (const Reason reason : {Reason::file_truncated, Reason::malformed_records, Reason::unknown_event}) {
    Case one;
    one.good(1000000).quality()[reason] = 1;
    EXPECT_EQ(one.judge().grade, Grade::kFair);
  }
}

TEST(Verdict, TheLineTellsOfRecordsThatCouldNotBeRead) {
  Case one;
  one.good(1000).quality()[Reason::malformed_records] = 1234;
  EXPECT_NE(one_line(one.judge()).find(", 1,234 records unreadable"), std::string::npos);
  EXPECT_EQ(one_line(Case().good(1000).judge()).find("unreadable"), std::string::npos);
}

TEST(Verdict, SharesAreNotRoundedToAllOrNone) {
  const auto almost = Case().add(4, {kWork, kWork}).good(9996).judge();  // 99.96 %
  EXPECT_NE(one_line(almost).find(" 99.9 % of stacks whole"), std::string::npos) << one_line(almost);
  const auto closer = Case().add(1, {kWork, kWork}).good(9999999).judge();
  EXPECT_NE(one_line(closer).find(" 99.9 % of stacks whole"), std::string::npos) << one_line(closer);
  const auto few = Case().add(1, {kStart, {"f", CodeKind::kFile, model::kFrameNotSetUp}}).good(9999999).judge();
  EXPECT_NE(one_line(few).find(" under 0.1 % without"), std::string::npos) << one_line(few);
  EXPECT_NE(one_line(Case().add(1, {kWork}).judge()).find(" 0 % of stacks whole"), std::string::npos);
  Case names;
  names.add(1, {kStart, {"?", CodeKind::kFile, 0, false}}).good(9999);
  EXPECT_NE(one_line(names.judge()).find(" 99.9 % of frames named"), std::string::npos);
}

TEST(Verdict, NoSamplesAreNoProfile) {
  const auto verdict = Case().judge();
  EXPECT_EQ(verdict.grade, Grade::kPoor);
  EXPECT_EQ(verdict.samples, 0u);
}

TEST(Verdict, StatesWhatTheRecorderAndTheHypervisorTook) {
  Case one;
  one.good(970).quality().own = 30;
  one.facts().steal_share = 0.032;
  one.facts().recorder_cpu_seconds = 0.125;
  const auto verdict = one.judge();
  const auto line = one_line(verdict);
  EXPECT_NE(line.find("30 of tephra itself left out (3.0 %)"), std::string::npos) << line;
  EXPECT_NE(line.find("the hypervisor took 3.2 % of CPU time (steal)"), std::string::npos) << line;
  EXPECT_TRUE(advises(verdict, "the hypervisor took 3.2 %"));
  EXPECT_NE(details(verdict).find("recording used 0.12 s of CPU time"), std::string::npos) << details(verdict);
  EXPECT_EQ(verdict.grade, Grade::kGood);
}

TEST(Verdict, TellsTheSizesOfCopies) {
  EXPECT_EQ(details(Case("stack copies").good(1000).judge()).find("cut"), std::string::npos);
  const std::vector<model::CopySize> sizes{{16384, 900, 31}, {36864, 5120, 4}};
  Case one("stack copies");
  one.good(1000);
  one.facts().copy_sizes = sizes;
  const auto verdict = one.judge();
  const std::string expected =
      "stacks by: stack copies\n    16.0 KiB each: 900 samples, 31 cut\n    36.0 KiB each: 5120 samples, 4 cut\n";
  EXPECT_NE((details(verdict) + "\n").find(expected), std::string::npos) << details(verdict);
  EXPECT_EQ(verdict.copy_sizes, sizes);
}

TEST(Verdict, LittleStealIsADetail) {
  Case one;
  one.good(1000);
  one.facts().steal_share = 0.004;
  const auto verdict = one.judge();
  EXPECT_EQ(one_line(verdict).find("hypervisor"), std::string::npos);
  EXPECT_TRUE(verdict.advice.empty());
  EXPECT_NE(details(verdict).find("the hypervisor took 0.4 % of CPU time (steal)"), std::string::npos);
  EXPECT_EQ(details(Case().good(1).judge()).find("hypervisor"), std::string::npos) << "where nobody measured it";
}

TEST(Verdict, TheOneLineIsOneLine) {
  Case one("none");
  one.add(7, {kStart}).quality().idle = 12;
  one.quality()[Reason::stacks_not_recorded] = 7;
  one.quality()[Reason::depth_limit] = 2;
  const auto verdict = one.judge();
  const auto line = one_line(verdict);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_NE(line.find("no stacks recorded"), std::string::npos);
  EXPECT_NE(line.find("12 idle left out"), std::string::npos);
  EXPECT_NE(line.find("2 cut"), std::string::npos);
  EXPECT_NE(details(verdict).find("stacks by: none"), std::string::npos);
}

// A jitdump has times of CLOCK_MONOTONIC, which help only in a recording that has them too.
TEST(Verdict, AdvisesTheClockOfJitdumps) {
  for (const bool same_clock : {true, false}) {
    Case one;
    one.good(50).add(50, {kStart, {"[unknown] [anon]+0x10", CodeKind::kAnonymous, 0, false}});
    one.quality()[Reason::jit_code_doubtful] = 50;
    one.quality()[Reason::jit_map_unproven] = 50;
    one.facts().clock = same_clock ? "CLOCK_MONOTONIC" : "CLOCK_MONOTONIC_RAW";
    const auto verdict = one.judge();
    EXPECT_EQ(advises(verdict, "perf record -k mono"), !same_clock);
    EXPECT_EQ(advises(verdict, "node --perf-prof"), same_clock);
    EXPECT_TRUE(advises(verdict, "Record with tephra"));
  }
}

TEST(VerdictTest, TellsHowSamplesWereRead) {
  model::Profile profile = TestProfile("offcpu-time").add("main", 1, 1).finish();
  model::add_reading_note("offcpu-time", "3 waits not over at the end", profile.facts);
  model::add_reading_note("kmem:kmalloc", "of another event", profile.facts);
  model::add_reading_note("", "4 samples left out", profile.facts);
  const Verdict verdict = judge(profile);
  EXPECT_EQ(verdict.notes, (std::vector<std::string>{"3 waits not over at the end", "4 samples left out"}));
  EXPECT_NE(one_line(verdict).find(", 3 waits not over at the end, 4 samples left out"), std::string::npos);
}

}  // namespace
}  // namespace tephra::analysis
