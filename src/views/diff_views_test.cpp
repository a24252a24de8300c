#include <gtest/gtest.h>

#include "analysis/diff.h"
#include "analysis/profile_for_tests.h"
#include "views/diff_flame.h"
#include "views/diff_json.h"
#include "views/diff_text.h"

namespace tephra::views {
namespace {

using analysis::Diff;
using analysis::DiffBy;

model::Profile counts(std::initializer_list<std::pair<const char*, uint64_t>> stacks) {
  analysis::TestProfile made;
  for (const auto& [stack, count] : stacks) made.add(stack, count, count * 1'000'000);
  return made.finish();
}

Diff compare(const model::Profile& before, const model::Profile& after, DiffBy by = DiffBy::kShare) {
  auto result = analysis::diff({{.profile = &before, .named = &before, .side = analysis::DiffSide::kBefore},
                                {.profile = &after, .named = &after, .side = analysis::DiffSide::kAfter}},
                               {.tree = {.by = by}});
  EXPECT_TRUE(result.ok());
  return std::move(result).value();
}

std::string text_of(const Diff& diff, const DiffTextOptions& options = {}) {
  return diff_text(diff, {{"old.data"}, {}}, {{"new.data"}, {}}, options);
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(DiffText, SaysWhatChangedFirst) {
  const auto before = counts({{"main;a", 6000}, {"main;b", 4000}});
  const auto after = counts({{"main;a", 5000}, {"main;b", 5000}});
  const std::string text = text_of(compare(before, after));
  EXPECT_TRUE(text.starts_with("2 functions changed. The largest change: a, -10.00 % of all (95 %: -11.")) << text;
  EXPECT_TRUE(has(text, "old.data: 10,000 samples")) << text;
  EXPECT_TRUE(has(text, "60.00 % → 50.00 %")) << text;
  EXPECT_TRUE(has(text, "prog > main > a")) << text;
  EXPECT_TRUE(has(text, "Benjamini")) << text;
}

TEST(DiffText, SaysThatNothingChangedAndWhatCouldHave) {
  const auto same = counts({{"main;a", 6000}, {"main;b", 4000}, {"main;c", 1}});
  const std::string text = text_of(compare(same, same));
  EXPECT_TRUE(text.starts_with("Nothing changed that is more than noise. No function grew by more than 1.")) << text;
  EXPECT_TRUE(has(text, "Within noise: 2 functions. Not tested, with fewer than 5 samples: 1.")) << text;
  EXPECT_FALSE(has(text, "call path")) << text;
  EXPECT_TRUE(has(text_of(compare(same, same), {.all = true}), "a  prog  (within noise)"));
}

TEST(DiffText, WhatIsNotTestedHasNoIntervals) {
  const auto folded = [](std::initializer_list<std::pair<const char*, uint64_t>> stacks) {
    analysis::TestProfile made("samples", "samples");
    for (const auto& [stack, count] : stacks) made.add(stack, count, count);
    return made.finish();
  };
  const auto before = folded({{"main;a", 60'000'000}, {"main;b", 40'000'000}, {"main;c", 10'000'000}});
  const auto after = folded({{"main;a", 50'000'000}, {"main;b", 50'000'000}, {"main;c", 10'000'000}});
  const std::string text = text_of(compare(before, after));
  EXPECT_TRUE(text.starts_with("These numbers look like periods, times or bytes")) << text;
  EXPECT_TRUE(has(text, "--weight samples")) << text;
  EXPECT_TRUE(has(text, "54.55 % → 45.45 %")) << text;
  EXPECT_FALSE(has(text, "interval")) << text;
  EXPECT_FALSE(has(text, "9.09 % → 9.09 %")) << text;
  EXPECT_FALSE(has(text, "false")) << text;
  EXPECT_TRUE(has(text_of(compare(before, before)), "No function has another number")) << text;
}

TEST(DiffText, NamesTheNormalisation) {
  const auto before = counts({{"main", 6000}});
  const auto after = counts({{"main", 9000}});
  EXPECT_TRUE(has(text_of(compare(before, after)), "values  shares of cpu-clock (ns)"));
  const std::string time = text_of(compare(before, after, DiffBy::kTime));
  EXPECT_TRUE(has(time, "CPU time of a whole recording, as it is; 6.00 s before, 9.00 s after (+50.0 %)")) << time;
  EXPECT_TRUE(has(time, "+50.00 (+4")) << time;
  EXPECT_TRUE(has(time, "Totals of identical runs differ")) << time;
}

TEST(DiffText, NamesAreHarmlessAndLimited) {
  const auto before = counts({{"main;\x1b[31mevil", 5000}, {"main;b", 3000}, {"main;c", 2000}});
  const auto after = counts({{"main;\x1b[31mevil", 1000}, {"main;b", 7000}, {"main;c", 2000}});
  const std::string text = text_of(compare(before, after), {.limit = 1});
  EXPECT_FALSE(has(text, "\x1b"));
  EXPECT_TRUE(has(text, "… and 1 more; --limit shows them")) << text;
  EXPECT_TRUE(has(text_of(compare(before, after), {.color = true}), "\x1b[31m+40.00"));
}

TEST(DiffText, RegressionsAreNamed) {
  const auto before = counts({{"main;a", 6000}, {"main;b", 4000}});
  const auto after = counts({{"main;a", 5000}, {"main;b", 5000}});
  const Diff diff = compare(before, after);
  const std::string text = regressions_text(diff, analysis::regressions(diff, 0.02), 0.02);
  EXPECT_TRUE(text.starts_with("regression: b grew by +10.00 % of all (95 %: +8.")) << text;
  EXPECT_TRUE(text.ends_with("more than 2 %\n")) << text;
}

TEST(DiffFlame, WhatIsGoneAndWhatIsNewAreBothSeen) {
  const auto before = counts({{"main;gone", 5000}, {"main;same", 5000}});
  const auto after = counts({{"main;fresh", 5000}, {"main;same", 5000}});
  const Diff diff = compare(before, after);
  const std::string both = diff_flame(diff, {}, {});
  for (const char* name : {"gone", "fresh", "same"}) EXPECT_TRUE(has(both, name)) << name;
  EXPECT_TRUE(has(both, "-50.00 % of all"));
  EXPECT_TRUE(has(both, ", new"));
  EXPECT_TRUE(has(both, "within noise"));
  EXPECT_FALSE(has(diff_flame(diff, {}, {.width = DiffWidth::kAfter}), ">gone<"));
  EXPECT_NE(diff_flame(diff, {}, {.negate = true}), both);
}

TEST(DiffJson, IsWholeAndValid) {
  const auto before = counts({{"main;a\"<", 6000}, {"main;b", 4000}});
  const auto after = counts({{"main;a\"<", 5000}, {"main;b", 5000}});
  const Diff diff = compare(before, after);
  const std::string text = diff_json(diff, {{"old"}, {}}, {{"new"}, {}}, analysis::regressions(diff, 0.02));
  for (const char* key : {"\"by\": \"share\"", "\"normalisation\"", "\"effective_samples\": 10000", "\"detectable\"",
                          "\"q\"", "\"paths\"", "\"regressions\"", "\"renamed\"", "\"moved\""}) {
    EXPECT_TRUE(has(text, key)) << key;
  }
}

}  // namespace
}  // namespace tephra::views
