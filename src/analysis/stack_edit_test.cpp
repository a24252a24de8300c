#include "analysis/stack_edit.h"

#include <gtest/gtest.h>

#include <map>

#include "analysis/labels.h"
#include "analysis/profile_for_tests.h"
#include "model/redaction.h"

namespace tephra::analysis {
namespace {

using Stacks = std::map<std::string, uint64_t>;

base::Pattern pattern(std::string_view expression) { return *base::Pattern::compile("--focus", expression); }

// The samples of a profile by their stacks, outermost first.
Stacks stacks_of(const model::Profile& profile) {
  Stacks stacks;
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    std::string text;
    for (model::StackId at = profile.samples.stack[i]; at; at = profile.stacks[at].parent) {
      text = frame_label(profile, profile.stacks[at].frame) + (text.empty() ? "" : ";") + text;
    }
    stacks[text] += profile.samples.count[i];
  }
  return stacks;
}

model::Profile example() {
  return TestProfile()
      .add("main;parse;read", 5, 50)
      .add("main;parse;number", 3, 30)
      .add("main;write;memcpy@/usr/lib/libc.so.6", 2, 20)
      .add("idle", 1, 10)
      .finish();
}

Stacks edited(const model::Profile& profile, const StackEdit& edit) {
  return stacks_of(edit_stacks(profile, edit, profile).profile);
}

TEST(StackEdit, LeavesAProfileAsItIsWithoutWishes) {
  const auto profile = example();
  EXPECT_FALSE(StackEdit{}.changes_anything());
  const auto same = edit_stacks(profile, {}, profile);
  EXPECT_EQ(stacks_of(same.profile), stacks_of(profile));
  EXPECT_EQ(same.kept, same.before);
}

TEST(StackEdit, FocusKeepsSamplesAndTheirWholeStacks) {
  const auto profile = example();
  const auto result = edit_stacks(profile, {.focus = pattern("^parse$")}, profile);
  EXPECT_EQ(stacks_of(result.profile), (Stacks{{"main;parse;read", 5}, {"main;parse;number", 3}}));
  EXPECT_EQ(result.before, (model::Totals{11, 110}));
  EXPECT_EQ(result.kept, (model::Totals{8, 80}));
  EXPECT_TRUE(result.nowhere.empty());
}

TEST(StackEdit, FocusLooksAtModulesToo) {
  EXPECT_EQ(edited(example(), {.focus = pattern("libc\\.so")}), (Stacks{{"main;write;memcpy", 2}}));
}

TEST(StackEdit, IgnoreWinsOverFocus) {
  EXPECT_EQ(edited(example(), {.focus = pattern("parse"), .ignore = pattern("number")}),
            (Stacks{{"main;parse;read", 5}}));
}

TEST(StackEdit, HideTakesFramesAwayAndSamplesThatHaveNoneLeft) {
  const auto profile = example();
  const auto result = edit_stacks(profile, {.hide = pattern("parse|idle")}, profile);
  EXPECT_EQ(stacks_of(result.profile), (Stacks{{"main;read", 5}, {"main;number", 3}, {"main;write;memcpy", 2}}));
  EXPECT_EQ(result.kept.count, 10u);
}

TEST(StackEdit, ShowKeepsOnlySuchFrames) {
  EXPECT_EQ(edited(example(), {.show = pattern("main|read")}), (Stacks{{"main;read", 5}, {"main", 5}}));
}

TEST(StackEdit, ShowFromBeginsAtTheOutermostMatch) {
  const auto profile = TestProfile().add("main;a;b;a;c", 4, 4).add("main;b", 1, 1).finish();
  EXPECT_EQ(edited(profile, {.show_from = pattern("^a$")}), (Stacks{{"a;b;a;c", 4}}));
}

TEST(StackEdit, PruneFromEndsAtTheInnermostMatch) {
  const auto profile = TestProfile().add("main;a;b;a;c;d", 4, 4).add("main;b", 1, 1).finish();
  EXPECT_EQ(edited(profile, {.prune_from = pattern("^a$")}), (Stacks{{"main;a;b;a", 4}, {"main;b", 1}}));
}

TEST(StackEdit, ABaseFrameCutsCallersWhereThereIsOne) {
  EXPECT_EQ(edited(example(), {.bases = {"parse"}}),
            (Stacks{{"parse;read", 5}, {"parse;number", 3}, {"main;write;memcpy", 2}, {"idle", 1}}));
}

TEST(StackEdit, DropsFunctionsAndWhatTheyCallBehindOthers) {
  const auto profile =
      TestProfile().add("main;malloc;brk", 2, 2).add("malloc;brk", 1, 1).add("main;run;x", 1, 1).finish();
  EXPECT_EQ(edited(profile, {.drop = pattern("^malloc$|^run$"), .keep = pattern("run")}),
            (Stacks{{"main", 2}, {"malloc;brk", 1}, {"main;run;x", 1}}));
}

TEST(StackEdit, FoldsDirectRecursionOnly) {
  const auto profile = TestProfile().add("main;f;f;f;g;f", 4, 4).add("main;f;g", 1, 1).finish();
  EXPECT_EQ(edited(profile, {.fold_recursion = true}), (Stacks{{"main;f;g;f", 4}, {"main;f;g", 1}}));
}

TEST(StackEdit, RecursionIsFoldedWhereAHiddenFrameStoodBetween) {
  const auto profile = TestProfile().add("main;f;g;f;h", 4, 4).finish();
  EXPECT_EQ(edited(profile, {.hide = pattern("^g$"), .fold_recursion = true}), (Stacks{{"main;f;h", 4}}));
}

TEST(StackEdit, MergesTemplatesUnderTheShortName) {
  const auto profile = TestProfile().add("main;sort<int>", 4, 4).add("main;sort<long>", 1, 1).finish();
  EXPECT_EQ(edited(profile, {.merge_templates = true}), (Stacks{{"main;sort<…>", 5}}));
}

TEST(StackEdit, MergesThreadsByTheirNames) {
  const auto profile = TestProfile()
                           .add("main", 1, 1, {.comm = "worker-1", .tid = 11})
                           .add("main", 2, 2, {.comm = "worker-12", .tid = 12})
                           .add("main", 4, 4, {.comm = "other", .tid = 13})
                           .finish();
  const auto result = edit_stacks(profile, {.merge_threads = pattern("[0-9]+")}, profile).profile;
  Stacks by_thread;
  for (size_t i = 0; i < result.samples.size(); ++i) {
    by_thread[std::string(result.text(result.threads[result.samples.thread[i]].comm))] += result.samples.count[i];
  }
  EXPECT_EQ(by_thread, (Stacks{{"worker-*", 3}, {"other", 4}}));
}

TEST(StackEdit, TellsWhichExpressionsMatchNothing) {
  const auto profile = example();
  const auto result = edit_stacks(
      profile, {.hide = pattern("nothing"), .bases = {"nobody"}, .merge_threads = pattern("[0-9]")}, profile);
  EXPECT_EQ(result.nowhere,
            (std::vector<std::string>{"--hide 'nothing'", "--base-frame 'nobody'", "--merge-threads '[0-9]'"}));
}

TEST(StackEdit, MatchesTheNamesBehindHashes) {
  const auto named = example();
  const auto redacted = model::redact(named, model::Redaction("a key of sixteen bytes"));
  const auto result = edit_stacks(redacted, {.focus = pattern("parse")}, named);
  EXPECT_EQ(result.kept.count, 8u);
  for (const auto& [stack, count] : stacks_of(result.profile)) EXPECT_EQ(stack.find("parse"), std::string::npos);
}

TEST(StackEdit, ThreadsBehindHashesAreMergedToo) {
  const auto named =
      TestProfile().add("f", 1, 1, {.comm = "w1", .tid = 11}).add("f", 2, 2, {.comm = "w2", .tid = 12}).finish();
  const auto redacted = model::redact(named, model::Redaction("a key of sixteen bytes"));
  const auto result = edit_stacks(redacted, {.merge_threads = pattern("[0-9]+")}, named).profile;
  EXPECT_EQ(result.threads[model::ThreadId{0}].comm, result.threads[model::ThreadId{1}].comm);
  EXPECT_NE(result.text(result.threads[model::ThreadId{0}].comm), "w*");
}

TEST(StackEdit, SelectsByLabels) {
  model::ProfileAssembler assembler;
  const auto event = assembler.event({assembler.string("alloc"), assembler.string("bytes")});
  const auto thread = assembler.thread({});
  const auto add = [&](std::string_view key, std::string_view text, int64_t number, std::string_view unit) {
    const auto labels =
        assembler.labels({{assembler.string(key), assembler.string(text), number, assembler.string(unit)}});
    assembler.sample({.event = event, .thread = thread, .count = 1, .value = 1, .labels = labels});
  };
  add("user", "ann", 0, "");
  add("user", "bob", 0, "");
  add("size", "", 512, "bytes");
  const auto profile = std::move(assembler).finish();
  const auto kept = [&](const StackEdit& edit) { return edit_stacks(profile, edit, profile).kept.count; };
  EXPECT_EQ(kept({.tag_focus = pattern("user:ann")}), 1u);
  EXPECT_EQ(kept({.tag_focus = pattern("^size:512bytes$")}), 1u);
  EXPECT_EQ(kept({.tag_ignore = pattern("ann|bob")}), 1u);
}

TEST(StackEdit, EverySampleIsKeptOrCounted) {
  const auto profile = example();
  for (const char* expression : {"main", "read", "x", "e", "libc"}) {
    const auto focus = edit_stacks(profile, {.focus = pattern(expression)}, profile);
    const auto ignore = edit_stacks(profile, {.ignore = pattern(expression)}, profile);
    EXPECT_EQ(focus.kept.count + ignore.kept.count, focus.before.count) << expression;
    EXPECT_EQ(focus.kept.value + ignore.kept.value, focus.before.value) << expression;
    EXPECT_EQ(model::totals(focus.profile), focus.kept);
  }
}

}  // namespace
}  // namespace tephra::analysis
