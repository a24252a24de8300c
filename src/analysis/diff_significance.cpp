#include "analysis/diff_significance.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "analysis/diff_interval.h"
#include "analysis/diff_math.h"
#include "base/hash.h"

namespace tephra::analysis {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kTail = 0.975;  // of a 95 % interval

// The variance of the rate of one sample.
double variance(DiffBy by, double rate) {
  if (by != DiffBy::kShare) return rate;
  return std::max(0.0, rate * (1 - rate));
}

// One number that is tested, as its sums have it.
struct Numbers {
  double rate[kDiffSides];
  double spread[kDiffSides];   // variance between units over that of independent samples
  double freedom[kDiffSides];  // of the spread; 0: nothing is known
  double steps[kDiffSides];    // the same as the spread, from the steps between units
  double size[kDiffSides];     // one over the squared coefficient of variation that independent samples have
};

class Reading {
 public:
  explicit Reading(const DiffTree& tree) : tree_(tree) {}

  Numbers of(const DiffMoments (&moments)[kDiffSides]) const {
    Numbers numbers{};
    for (size_t s = 0; s < kDiffSides; ++s) {
      const DiffSums& side = tree_.sides[s];
      if (side.weight_of_units <= 0) continue;
      numbers.rate[s] = moments[s].first / side.weight_of_units;
      const double units = static_cast<double>(side.units.size());
      const double expected = variance(tree_.by, numbers.rate[s]) * (side.replicates ? side.mean_inverse_size : 1);
      if (units < 2 || expected <= 0) continue;
      numbers.size[s] = variance(tree_.by, numbers.rate[s]) / side.mean_inverse_size;
      const double squares = std::max(0.0, moments[s].second - moments[s].first * numbers.rate[s]);
      numbers.freedom[s] = units - 1;
      numbers.spread[s] = squares / (units - 1) / expected;
      numbers.steps[s] = moments[s].steps / (units - 1) / expected;
    }
    return numbers;
  }

  double samples(const Numbers& numbers) const {
    double sum = 0;
    for (size_t s = 0; s < kDiffSides; ++s) sum += numbers.rate[s] * tree_.sides[s].sum_of_sizes;
    return sum;
  }

 private:
  const DiffTree& tree_;
};

// The typical spread, and how much it says about each function's own. Smyth's estimate (2004) for variances that are
// themselves spread: if functions agree, their common value is nearly certain; if they do not, each has its own.
struct Prior {
  double spread = 1;
  double freedom = 0;
};

// The spread of one function, for what is typical of all.
struct OwnSpread {
  double spread = 0;
  double freedom = 0;
  double size = 0;
};

constexpr size_t kFewest = 5;  // functions that tell what is typical

Prior prior_of(const std::vector<OwnSpread>& spreads) {
  constexpr double kMostFreedom = 50;
  constexpr double kFewFreedom = 4;
  double sum = 0;
  double freedom = 0;
  for (const OwnSpread& one : spreads) {
    sum += one.spread * one.freedom;
    freedom += one.freedom;
  }
  if (freedom == 0) return {};
  const double mean = sum / freedom;
  if (spreads.size() < kFewest) return {std::max(1.0, mean), kFewFreedom};
  double first = 0;
  double second = 0;
  double noise = 0;
  for (const OwnSpread& one : spreads) {
    const double half = one.freedom / 2;
    const double log = std::log(std::max(one.spread, 0.02 * mean + 1e-9)) - digamma(half) + std::log(half);
    first += log;
    second += log * log;
    noise += trigamma(half);
  }
  const double count = static_cast<double>(spreads.size());
  const double excess = (second - first * first / count) / (count - 1) - noise / count;
  Prior prior{0, kMostFreedom};
  if (excess > 0) prior.freedom = std::min(kMostFreedom, 2 * trigamma_inverse(excess));
  const double half = prior.freedom / 2;
  prior.spread = std::exp(first / count + digamma(half) - std::log(half));
  return prior;
}

// How runs differ. What makes a function's share another in each run is in proportion to that share, so its variance
// over that of independent samples grows with the function's size: 1 + size · squared coefficient of variation.
struct RunNoise {
  double squared_variation = 0;  // typical one, over all functions
  double freedom = 0;            // how far functions agree in it, as that of Prior

  double spread(double size) const { return 1 + squared_variation * size; }
};

// By the mean of logarithms, so that few functions that differ far more than others do not speak for all.
double log_beyond(const OwnSpread& one, const RunNoise& noise) {
  constexpr double kLeast = 0.02;
  const double half = one.freedom / 2;
  return std::log(std::max(one.spread / noise.spread(one.size), kLeast)) - digamma(half) + std::log(half);
}

double mean_log_beyond(const std::vector<OwnSpread>& spreads, const RunNoise& noise) {
  double sum = 0;
  for (const OwnSpread& one : spreads) sum += log_beyond(one, noise);
  return sum / static_cast<double>(spreads.size());
}

RunNoise run_noise_of(const std::vector<OwnSpread>& spreads) {
  constexpr double kMostVariation = 100;
  constexpr double kMostFreedom = 50;
  RunNoise noise;
  if (spreads.size() < kFewest) return noise;
  if (mean_log_beyond(spreads, noise) > 0) {
    double low = 0;
    double high = kMostVariation;
    for (int i = 0; i < 50; ++i) {
      noise.squared_variation = (low + high) / 2;
      (mean_log_beyond(spreads, noise) > 0 ? low : high) = noise.squared_variation;
    }
  }
  const double mean = mean_log_beyond(spreads, noise);
  double squares = 0;
  double chance = 0;
  for (const OwnSpread& one : spreads) {
    squares += std::pow(log_beyond(one, noise) - mean, 2);
    chance += trigamma(one.freedom / 2);
  }
  const double count = static_cast<double>(spreads.size());
  const double excess = squares / (count - 1) - chance / count;
  noise.freedom = excess > 0 ? std::min(kMostFreedom, 2 * trigamma_inverse(excess)) : kMostFreedom;
  return noise;
}

// How much what goes on for longer than a part of a recording adds to the variance beyond what parts show: found from
// the correlation of neighbouring parts, over all functions. Samples by themselves are not correlated, so it is about
// what is beyond their variance only.
class Persistence {
 public:
  void note(double spread, double steps, double freedom) {
    beyond_ += (spread - 1) * freedom;
    in_common_ += (spread - steps) * freedom;
    freedom_ += freedom;
    ++count_;
  }

  double factor() const {
    constexpr double kWorthIt = 0.2;  // of the variance of independent samples; below there is nothing to correlate
    if (freedom_ == 0 || beyond_ < kWorthIt * freedom_) return 1;
    // That the mean is that of the same parts makes them look less alike, by one over their number.
    const double bias = static_cast<double>(count_) / (freedom_ + static_cast<double>(count_));
    return 1 + 2 * std::clamp(in_common_ / beyond_ + bias, 0.0, 1.0);
  }

 private:
  double beyond_ = 0;
  double in_common_ = 0;
  double freedom_ = 0;
  size_t count_ = 0;
};

struct Dispersion {
  double factor = 1;
  double freedom = kInfinite;
};

// The spread of one function, drawn towards the typical one; never below that of independent samples.
Dispersion moderated(double spread, double freedom, const Prior& prior) {
  const double together = freedom + prior.freedom;
  if (together <= 0) return {};
  return {std::max(1.0, (spread * freedom + prior.spread * prior.freedom) / together), together};
}

// The spread of one function between runs: its own, but not below the typical one for its size. It is never drawn
// down: a function that differs from run to run more than others looks steady in two or three runs by chance often
// enough. That others agree counts for at most three times the degrees of freedom of its own runs.
Dispersion between_runs(double spread, double freedom, double size, const RunNoise& noise) {
  constexpr double kOthers = 3;
  return {std::max(spread, noise.spread(size)), freedom + std::min(kOthers * freedom, noise.freedom)};
}

class Testing {
 public:
  Testing(const DiffTree& tree, bool counted) : tree_(tree), reading_(tree), counted_(counted) {
    several_ = tree.sides[0].replicates || tree.sides[1].replicates;
    find_priors();
  }

  DiffTests run() {
    DiffTests tests;
    const size_t functions = tree_.functions.size();
    tests.self.resize(functions);
    tests.total.resize(functions);
    tests.paths.resize(tree_.nodes.size());
    tests.spread.tested = counted_ || (tree_.sides[0].replicates && tree_.sides[1].replicates);
    for (size_t i = 0; i < functions; ++i) {
      const DiffFunctionSums& sums = tree_.sums[i];
      tests.self[i] = test(sums.self_moments, tests.spread.tested);
      tests.total[i] = test(sums.total_moments, tests.spread.tested);
      const bool is_there = tests.total[i].before > 0 || tests.total[i].after > 0;
      tests.spread.too_small += !tree_.functions[i].base && is_there && tests.total[i].few;
    }
    for (size_t i = 0; i < tree_.nodes.size(); ++i) {
      tests.paths[i] = test(tree_.nodes[i].moments, tests.spread.tested);
    }
    decide(tests);
    tests.spread.dispersion = std::max(1.0, std::max(priors_[0].spread, priors_[1].spread));
    tests.spread.run_variation = std::sqrt(noise_.squared_variation);
    tests.spread.prior = several_ ? noise_.freedom : priors_[0].freedom;
    return tests;
  }

 private:
  // Of both sides together, where both are of several recordings or both are cut into parts.
  void find_priors() {
    constexpr double kEnough = 20;  // samples; the spread of fewer says little
    std::vector<OwnSpread> of_side[kDiffSides];
    std::vector<OwnSpread> of_runs;
    Persistence persistence[kDiffSides];
    const auto note = [&](const Numbers& numbers) {
      for (size_t s = 0; s < kDiffSides; ++s) {
        const bool enough = numbers.rate[s] * tree_.sides[s].sum_of_sizes >= kEnough;
        if (!enough || numbers.freedom[s] <= 0) continue;
        const OwnSpread own{numbers.spread[s], numbers.freedom[s], numbers.size[s]};
        of_side[several_ ? s : 0].push_back(own);
        if (tree_.sides[s].replicates) of_runs.push_back(own);
        persistence[several_ ? s : 0].note(numbers.spread[s], numbers.steps[s], numbers.freedom[s]);
      }
    };
    for (size_t i = 0; i < tree_.functions.size(); ++i) {
      if (tree_.functions[i].base) continue;
      const DiffFunctionSums& sums = tree_.sums[i];
      note(reading_.of(sums.self_moments));
      // What calls nothing has the same numbers twice.
      if (sums.self_moments[0].first != sums.total_moments[0].first ||
          sums.self_moments[1].first != sums.total_moments[1].first) {
        note(reading_.of(sums.total_moments));
      }
    }
    for (size_t s = 0; s < kDiffSides; ++s) priors_[s] = prior_of(of_side[s]);
    noise_ = run_noise_of(of_runs);
    if (!several_) priors_[1] = priors_[0];
    // Recordings do not follow one another.
    for (size_t s = 0; s < kDiffSides; ++s) {
      if (!tree_.sides[s].replicates) persistence_[s] = persistence[several_ ? s : 0].factor();
    }
  }

  // With what parts do not show.
  Dispersion whole(Dispersion dispersion, size_t side) const {
    dispersion.factor = 1 + (dispersion.factor - 1) * persistence_[side];
    return dispersion;
  }

  DiffValue test(const DiffMoments (&moments)[kDiffSides], bool wanted) {
    const Numbers numbers = reading_.of(moments);
    DiffValue value{.before = numbers.rate[0], .after = numbers.rate[1]};
    value.few = reading_.samples(numbers) < kFewestSamples;
    if (!wanted || value.few) return value;
    const double sizes[] = {tree_.sides[0].sum_of_sizes, tree_.sides[1].sum_of_sizes};
    const double pooled = (value.before * sizes[0] + value.after * sizes[1]) / (sizes[0] + sizes[1]);
    if (variance(tree_.by, pooled) <= 0) return value;  // all of both sides
    value.tested = true;
    if (several_) {
      compare_recordings(numbers, pooled, value);
    } else {
      compare_counts(numbers, pooled, value);
    }
    return value;
  }

  // One recording a side.
  void compare_counts(const Numbers& numbers, double pooled, DiffValue& value) {
    const double freedom = numbers.freedom[0] + numbers.freedom[1];
    const double spread =
        freedom > 0 ? (numbers.spread[0] * numbers.freedom[0] + numbers.spread[1] * numbers.freedom[1]) / freedom : 0;
    const Dispersion dispersion = whole(moderated(spread, freedom, priors_[0]), 0);
    const RateSample before{value.before, tree_.sides[0].sum_of_sizes / dispersion.factor};
    const RateSample after{value.after, tree_.sides[1].sum_of_sizes / dispersion.factor};
    const Interval interval = tree_.by == DiffBy::kShare
                                  ? difference_of_shares(before, after, quantile(dispersion.freedom))
                                  : difference_of_rates(before, after, quantile(dispersion.freedom));
    value.low = interval.low;
    value.high = interval.high;
    value.dispersion = dispersion.factor;
    value.freedom = dispersion.freedom;
    const double error = std::sqrt(variance(tree_.by, pooled) * (1 / before.size + 1 / after.size));
    value.detectable = error;
    value.p = few(before, after) ? exact_p(before, after) : two_sided_p(value.change() / error, dispersion.freedom);
  }

  // Several recordings on a side, or on both: Welch's test on their rates. The variance of a side with one recording is
  // that of its parts, and what recordings of the other side differ by beyond theirs.
  void compare_recordings(const Numbers& numbers, double pooled, DiffValue& value) {
    double error[kDiffSides];
    double freedom[kDiffSides];
    for (size_t s = 0; s < kDiffSides; ++s) {
      const DiffSums& side = tree_.sides[s];
      const Dispersion own = side.replicates ? between_runs_of(numbers, s) : with_spread_of_runs(numbers, s);
      const double here = variance(tree_.by, value_of(value, s));
      const double scale =
          side.replicates ? side.mean_inverse_size / static_cast<double>(side.units.size()) : 1 / side.sum_of_sizes;
      error[s] = std::max(own.factor * here, variance(tree_.by, pooled)) * scale;
      freedom[s] = own.freedom;
      value.dispersion = std::max(value.dispersion, own.factor);
    }
    WelchResult result = welch(value.change(), error[0], freedom[0], error[1], freedom[1]);
    if (tree_.sides[0].replicates != tree_.sides[1].replicates) {
      // Both variances are those of the same runs.
      result.freedom = std::min(result.freedom, freedom[tree_.sides[0].replicates ? 0 : 1]);
      result.p = result.error > 0 ? two_sided_p(value.change() / result.error, result.freedom) : result.p;
    }
    value.freedom = result.freedom;
    value.p = result.p;
    value.detectable = result.error;
    const double half = quantile(result.freedom) * result.error;
    value.low = value.change() - half;
    value.high = value.change() + half;
  }

  static double value_of(const DiffValue& value, size_t side) { return side == 0 ? value.before : value.after; }

  // Runs in which a function never is are as many runs.
  Dispersion between_runs_of(const Numbers& numbers, size_t side) const {
    const double freedom = std::max(1.0, static_cast<double>(tree_.sides[side].units.size()) - 1);
    return between_runs(numbers.spread[side], freedom, numbers.size[side], noise_);
  }

  Dispersion with_spread_of_runs(const Numbers& numbers, size_t side) const {
    const size_t other = 1 - side;
    const Dispersion parts = whole(moderated(numbers.spread[side], numbers.freedom[side], priors_[side]), side);
    const Dispersion runs = between_runs_of(numbers, other);
    const double sizes = tree_.sides[side].sum_of_sizes * tree_.sides[other].mean_inverse_size;
    return {parts.factor + (runs.factor - 1) * sizes, runs.freedom};
  }

  // Where the normal distribution is no good stand-in for that of counts.
  static bool few(const RateSample& before, const RateSample& after) {
    return before.rate * before.size + after.rate * after.size < 20;
  }

  // The share of one side among the samples of both: binomial, as far as shares of all are small.
  static double exact_p(const RateSample& before, const RateSample& after) {
    const double hits = after.rate * after.size;
    const double tries = hits + before.rate * before.size;
    const double chance = after.size / (before.size + after.size);
    return std::min(1.0, 2 * std::min(binomial_at_least(hits, tries, chance), binomial_at_most(hits, tries, chance)));
  }

  double quantile(double freedom) { return quantile_of(kTail, freedom, tails_); }

  static double quantile_of(double tail, double freedom, std::unordered_map<uint64_t, double>& known) {
    // Two digits of the degrees of freedom are more than can be seen.
    const double rounded = freedom < 100 ? std::max(0.01, std::floor(freedom * 100) / 100) : std::min(freedom, 1e9);
    const auto [at, fresh] = known.try_emplace(std::bit_cast<uint64_t>(rounded));
    if (fresh) at->second = student_quantile(tail, rounded);
    return at->second;
  }

  // Equal numbers are the same test: a function with one caller, a path without a branch.
  struct Key {
    double numbers[4];
    bool operator==(const Key&) const = default;
  };
  struct HashOfKey {
    size_t operator()(const Key& key) const {
      uint64_t hash = 0x9e3779b97f4a7c15;
      for (const double number : key.numbers) {
        hash = (hash ^ std::bit_cast<uint64_t>(number)) * 0xff51afd7ed558ccd;
        hash ^= hash >> 32;
      }
      return hash;
    }
  };

  template <class Visit>
  void for_each_tested(DiffTests& tests, Visit visit) {
    for (auto* values : {&tests.self, &tests.total}) {
      for (size_t i = 0; i < values->size(); ++i) {
        if (!tree_.functions[i].base && (*values)[i].tested) visit((*values)[i]);
      }
    }
    for (DiffValue& value : tests.paths) {
      if (value.tested) visit(value);
    }
  }

  void decide(DiffTests& tests) {
    std::unordered_map<Key, size_t, HashOfKey> number;
    std::vector<double> p;
    const auto key_of = [](const DiffValue& value) {
      return Key{{value.before, value.after, value.dispersion, value.detectable}};
    };
    for_each_tested(tests, [&](DiffValue& value) {
      if (number.try_emplace(key_of(value), p.size()).second) p.push_back(value.p);
    });
    const std::vector<double> rates = false_discovery_rates(p);
    const auto found = std::count_if(rates.begin(), rates.end(), [](double q) { return q < kFalseDiscoveryRate; });
    tests.spread.tests = p.size();
    tests.spread.findings = static_cast<uint64_t>(found);
    const double least = kFalseDiscoveryRate * static_cast<double>(std::max<long>(1, found)) /
                         static_cast<double>(std::max<size_t>(1, p.size()));
    std::unordered_map<uint64_t, double> thresholds;
    const double power = normal_quantile(kPower);
    for_each_tested(tests, [&](DiffValue& value) {
      value.q = rates[number.at(key_of(value))];
      value.finding = value.q < kFalseDiscoveryRate && (value.low > 0 || value.high < 0);
      value.threshold = quantile_of(1 - least / 2, value.freedom, thresholds);
    });
    for_each_tested(tests, [&](DiffValue& value) { value.detectable *= value.threshold + power; });
  }

  const DiffTree& tree_;
  const Reading reading_;
  const bool counted_;
  bool several_ = false;
  Prior priors_[kDiffSides];
  RunNoise noise_;
  double persistence_[kDiffSides] = {1, 1};
  std::unordered_map<uint64_t, double> tails_;
};

}  // namespace

DiffTests diff_tests(const DiffTree& tree, bool samples_are_counted) {
  return Testing(tree, samples_are_counted).run();
}

}  // namespace tephra::analysis
