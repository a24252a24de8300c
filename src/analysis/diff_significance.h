#pragma once

#include <cstdint>
#include <vector>

#include "analysis/diff_tree.h"

namespace tephra::analysis {

// A number on both sides, in the unit of the comparison (a share, or a weight divided by what DiffBy says), and what is
// known of its change.
struct DiffValue {
  double before = 0;
  double after = 0;
  double low = 0;  // 95 % interval of the change; only where it was tested
  double high = 0;
  double p = 1;           // the chance of such a change, or a larger one, where nothing changed
  double q = 1;           // the least false-discovery rate at which it is a finding
  double dispersion = 1;  // variance over that of independent samples, at least 1
  double freedom = 0;     // degrees of freedom of the test; infinity: the variance is taken as known
  double detectable = 0;  // the least change that is found with a power of 80 %
  double threshold = 0;   // how many standard errors make a finding
  bool tested = false;    // there is an interval
  bool few = false;       // too few samples to be tested
  bool finding = false;   // q < 0.05, and the interval is on one side of zero

  double change() const { return after - before; }
};

// How far what was measured is spread, in the tests of one comparison.
struct DiffSpread {
  double dispersion = 1;     // typical one, over all functions
  double run_variation = 0;  // typical coefficient of variation between runs beyond that of independent samples
  double prior = 0;          // how many degrees of freedom the typical one counts for beside a function's own
  uint64_t tests = 0;        // different ones; equal numbers are one test
  uint64_t findings = 0;     // among them
  uint64_t too_small = 0;    // functions that have too few samples to be tested
  bool tested = true;        // false: what is counted are no samples, and there is one profile a side
};

inline constexpr double kFalseDiscoveryRate = 0.05;
inline constexpr double kPower = 0.8;
inline constexpr double kFewestSamples = 5;  // of both sides together

// Tests all functions (self and total) and all call paths (total) together.
struct DiffTests {
  std::vector<DiffValue> self;   // of functions
  std::vector<DiffValue> total;  // of functions
  std::vector<DiffValue> paths;  // of nodes
  DiffSpread spread;
};

// `samples_are_counted`: that weights are sums over independent samples. Else only several profiles a side tell how
// much numbers vary.
DiffTests diff_tests(const DiffTree& tree, bool samples_are_counted);

}  // namespace tephra::analysis
