#include <gtest/gtest.h>

#include <cmath>

#include "analysis/diff.h"
#include "analysis/diff_interval.h"
#include "analysis/diff_math.h"
#include "analysis/diff_profiles_for_tests.h"

// The method of comparing, tested on data whose truth is known. Seeds are fixed: what passes passes always. Bounds are
// those that a method that keeps its promise exceeds once in thousands of seeds.
namespace tephra::analysis {
namespace {

std::vector<KnownStack> program(double slow = 0) {
  return {{"main;read;parse", 22},  {"main;read;scan", 13},  {"main;join;look_up", 15 + slow}, {"main;join;hash", 9},
          {"main;join;compare", 6}, {"main;write;sort", 12}, {"main;write;merge", 8},          {"main;write;encode", 7},
          {"main;write;sum", 5},    {"main;write;flush", 2}, {"main;read;sum", 0.9},           {"main;tail", 0.1}};
}

std::vector<model::Profile> several(KnownProfiles& known, const KnownRun& run, size_t count) {
  std::vector<model::Profile> all;
  for (size_t i = 0; i < count; ++i) all.push_back(known.draw(run));
  return all;
}

struct Same {
  size_t pairs_with_finding = 0;
  size_t intervals = 0;
  size_t missed = 0;
};

Same same_program(uint32_t seed, const KnownRun& run, size_t pairs, size_t recordings,
                  const DiffOptions& options = {}) {
  KnownProfiles known(seed);
  Same same;
  for (size_t i = 0; i < pairs; ++i) {
    const Diff diff = diff_of(several(known, run, recordings), several(known, run, recordings), options);
    same.pairs_with_finding += diff.tests.spread.findings > 0;
    for (const auto* values : {&diff.tests.self, &diff.tests.total}) {
      for (const DiffValue& value : *values) {
        same.intervals += value.tested;
        same.missed += value.tested && (value.low > 0 || value.high < 0);
      }
    }
  }
  return same;
}

// The number of hits of `tries` that a chance of `p` exceeds once in a thousand times.
size_t at_most(double p, size_t tries) {
  const double n = static_cast<double>(tries);
  return static_cast<size_t>(n * p + 3.1 * std::sqrt(n * p * (1 - p)) + 1);
}

TEST(DiffMethod, IndependentSamplesOfTheSameProgramHaveNoFindings) {
  const Same same = same_program(11, {.stacks = program()}, 300, 1);
  EXPECT_LE(same.pairs_with_finding, at_most(0.05, 300));
  // Intervals of one pair hang together, so the bound is generous; far below 5 % they would be too wide.
  EXPECT_LT(static_cast<double>(same.missed) / static_cast<double>(same.intervals), 0.06);
  EXPECT_GT(static_cast<double>(same.missed) / static_cast<double>(same.intervals), 0.015);
}

TEST(DiffMethod, UnsteadyProgramsHaveNoFindings) {
  // Shares vary by 30 % from second to second: ten times the variance of independent samples for the largest.
  for (const double seconds : {5.0, 20.0}) {
    const KnownRun run{
        .stacks = program(), .samples = static_cast<uint64_t>(1000 * seconds), .seconds = seconds, .unsteadiness = 0.3};
    const Same same = same_program(12, run, 200, 1);
    EXPECT_LE(same.pairs_with_finding, at_most(0.06, 200)) << seconds;
    EXPECT_LT(static_cast<double>(same.missed) / static_cast<double>(same.intervals), 0.08) << seconds;
  }
}

TEST(DiffMethod, RecordingsThatDifferFromRunToRunHaveNoFindings) {
  for (const size_t recordings : {2, 3, 6}) {
    const KnownRun run{.stacks = program(), .samples = 3000, .seconds = 3, .run_noise = 0.15};
    const Same same = same_program(13, run, 150, recordings);
    EXPECT_LE(same.pairs_with_finding, at_most(0.06, 150)) << recordings;
    EXPECT_LT(static_cast<double>(same.missed) / static_cast<double>(same.intervals), 0.08) << recordings;
  }
}

// Sixty functions, of which every `step`th up to `noisy` of them differs from run to run.
std::vector<KnownStack> many_functions(size_t noisy, size_t step, double deviation) {
  std::vector<KnownStack> all;
  for (size_t i = 0; i < 60; ++i) {
    const bool is_noisy = i % step == 0 && i / step < noisy;
    all.push_back({"main;f" + std::to_string(i), 1.0 / static_cast<double>(i + 3), is_noisy ? deviation : 0});
  }
  return all;
}

// Noise is in proportion to a function's size, so it is seen in large functions most; and few functions may have it
// all.
TEST(DiffMethod, FunctionsThatDifferFromRunToRunAreNoFindings) {
  struct Case {
    size_t noisy;
    size_t step;
    double deviation;
  };
  for (const Case& one : {Case{60, 1, 0.2}, Case{60, 1, 0.4}, Case{4, 1, 0.4}, Case{4, 6, 0.4}, Case{4, 12, 0.4}}) {
    for (const size_t recordings : {2, 3, 5}) {
      const KnownRun run{.stacks = many_functions(one.noisy, one.step, one.deviation), .samples = 4000};
      const Same same = same_program(23, run, 60, recordings);
      EXPECT_LE(same.pairs_with_finding, at_most(0.05, 60))
          << one.noisy << " functions, every " << one.step << ", " << one.deviation << ", " << recordings << " a side";
      EXPECT_LT(static_cast<double>(same.missed) / static_cast<double>(same.intervals), 0.06) << one.noisy;
    }
  }
}

TEST(DiffMethod, OneRecordingBesideSeveralIsTakenToVaryLikeThem) {
  KnownProfiles known(14);
  const KnownRun run{.stacks = program(), .samples = 3000, .seconds = 3, .run_noise = 0.15};
  size_t wrong = 0;
  for (int i = 0; i < 100; ++i) {
    wrong += diff_of(several(known, run, 5), several(known, run, 1)).tests.spread.findings > 0;
  }
  EXPECT_LE(wrong, at_most(0.06, 100));
}

TEST(DiffMethod, TotalsOfTheSameProgramHaveNoFindings) {
  const Same same = same_program(15, {.stacks = program()}, 150, 1, {.tree = {.by = DiffBy::kTime}});
  EXPECT_LE(same.pairs_with_finding, at_most(0.05, 150));
}

uint32_t look_up(const Diff& diff) {
  for (uint32_t i = 0; i < diff.tree.functions.size(); ++i) {
    if (diff.tree.functions[i].name == "look_up") return i;
  }
  return 0;
}

struct Slower {
  size_t found = 0;
  size_t covered = 0;
  double predicted = 0;
};

Slower slower_program(uint32_t seed, double percent, uint64_t samples, size_t pairs, size_t recordings) {
  KnownProfiles known(seed);
  const KnownRun before{.stacks = program(), .samples = samples, .seconds = 5};
  const KnownRun after{.stacks = program(percent), .samples = samples, .seconds = 5};
  const double truth = (15 + percent) / (100 + percent) - 0.15;
  Slower slower;
  for (size_t i = 0; i < pairs; ++i) {
    const Diff diff = diff_of(several(known, before, recordings), several(known, after, recordings));
    const DiffValue& value = diff.tests.self[look_up(diff)];
    slower.found += value.finding;
    slower.covered += value.low <= truth && truth <= value.high;
    const double error = value.detectable / (value.threshold + normal_quantile(kPower));
    slower.predicted += normal_cdf(truth / error - value.threshold);
  }
  return slower;
}

// A slowdown is found as often as is predicted, within what chance allows: 0.12 is three standard errors.
TEST(DiffMethod, SlowdownsAreFoundAtTheStatedPower) {
  constexpr size_t kPairs = 150;
  for (const uint64_t samples : {4000, 8000}) {
    const Slower three = slower_program(16, 3, samples, kPairs, 1);
    EXPECT_NEAR(static_cast<double>(three.found) / kPairs, three.predicted / kPairs, 0.12) << samples;
    EXPECT_GE(three.covered, kPairs * 90 / 100);
  }
  const Slower ten = slower_program(17, 10, 4000, kPairs, 1);
  EXPECT_GE(ten.found, kPairs * 98 / 100);
  EXPECT_GE(ten.covered, kPairs * 90 / 100);
}

TEST(DiffMethod, SeveralRecordingsFindMore) {
  constexpr size_t kPairs = 60;
  const Slower one = slower_program(18, 3, 4000, kPairs, 1);
  const Slower four = slower_program(19, 3, 4000, kPairs, 4);
  EXPECT_GT(four.found, one.found + kPairs / 5);
  EXPECT_NEAR(static_cast<double>(four.found) / kPairs, four.predicted / kPairs, 0.18);
  EXPECT_GE(four.covered, kPairs * 88 / 100);
}

TEST(DiffMethod, EqualRecordingsDoNotMakeCertain) {
  // Three times nothing, and three times the same number.
  KnownProfiles known(20);
  std::vector<model::Profile> before;
  std::vector<model::Profile> after;
  for (int i = 0; i < 3; ++i) {
    KnownProfiles same(21);
    before.push_back(same.draw({.stacks = {{"main;a", 1}}, .samples = 1000}));
    KnownProfiles other(22);
    after.push_back(other.draw({.stacks = {{"main;a", 499}, {"main;b", 1}}, .samples = 1000}));
  }
  const Diff diff = diff_of(before, after);
  for (const DiffValue& value : diff.tests.total) {
    EXPECT_TRUE(!value.tested || value.high - value.low > 0.0005);
    EXPECT_FALSE(value.finding && std::fabs(value.change()) < 0.001);
  }
}

TEST(DiffMethod, WeightsThatDifferCountForFewerSamples) {
  // Half of the samples weigh a hundred times as much as the others.
  model::ProfileAssembler made;
  const auto event = made.event({made.string("cycles"), made.string("count")});
  const auto name = made.string("main");
  const auto stack = made.stack({}, made.frame({.function = made.function({name, name, true})}));
  for (int i = 0; i < 1000; ++i) {
    made.sample(
        {.stack = stack, .event = event, .thread = made.thread({}), .count = 1, .value = i % 2 == 0 ? 1u : 100u});
  }
  std::vector<model::Profile> profile;
  profile.push_back(std::move(made).finish());
  const Diff diff = diff_of(profile, profile);
  EXPECT_NEAR(static_cast<double>(diff.tree.sides[0].effective_samples), 510, 2);
}

// Newcombe's own example (1998): 56/70 - 48/80 is 0.2, from 0.0524 to 0.3339.
TEST(DiffMethod, IntervalsAreNewcombes) {
  const Interval interval = difference_of_shares({48.0 / 80, 80}, {56.0 / 70, 70}, normal_quantile(0.975));
  EXPECT_NEAR(interval.low, 0.0524, 5e-5);
  EXPECT_NEAR(interval.high, 0.3339, 5e-5);
  const Interval none = difference_of_shares({0, 100}, {0, 100}, 1.96);
  EXPECT_LT(none.low, -0.03);
  EXPECT_GT(none.high, 0.03);
}

// Two samples of a textbook on Welch's test: means 20.6 and 22.1, squared errors 0.3 and 0.4, ten and five in number.
TEST(DiffMethod, WelchsFreedomIsSatterthwaites) {
  const WelchResult result = welch(1.5, 0.3, 9, 0.4, 4);
  EXPECT_NEAR(result.freedom, 0.49 / (0.09 / 9 + 0.16 / 4), 1e-12);
  EXPECT_NEAR(result.error, std::sqrt(0.7), 1e-12);
  EXPECT_NEAR(result.p, two_sided_p(1.5 / std::sqrt(0.7), result.freedom), 1e-15);
}

}  // namespace
}  // namespace tephra::analysis
