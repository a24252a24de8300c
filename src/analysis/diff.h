#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/diff_moves.h"
#include "analysis/diff_significance.h"
#include "analysis/diff_tree.h"
#include "analysis/verdict.h"
#include "base/result.h"

namespace tephra::analysis {

// What changed between two sides of profiles, and what of it is more than noise.
struct Diff {
  DiffTree tree;
  DiffTests tests;
  DiffMoves moves;
  std::string event;
  std::string unit;  // of weights: "ns", "bytes", "samples"
  // Numbers of stacks that do not say what they count look like periods, times or bytes, and are not taken for samples.
  bool counts_are_values = false;
  double base_total = 1;   // everything before, in the unit of values; what percentages are of
  double after_total = 1;  // everything after
  // Rows whose self or total is a finding, the largest change first.
  std::vector<uint32_t> changed_functions;
  // Nodes that are findings and whose change no single callee explains, the largest change first.
  std::vector<uint32_t> changed_paths;
  uint64_t within_noise = 0;      // functions that were tested and are no finding
  double largest_detectable = 0;  // over all functions that were tested
  double least_detectable = 0;
  double no_more_than = 0;  // no function grew by more: the highest end of all intervals, where there is no finding
  std::vector<std::string> warnings;

  // A change of all that is before, 1 is all of it.
  double of_base(double value) const { return base_total > 0 ? value / base_total : 0; }
  // The larger of the two changes of a function.
  const DiffValue& larger_change(uint32_t function) const;
};

struct DiffOptions {
  DiffTreeOptions tree;
  bool weight_is_chosen = false;  // else as the event says
};

// Compares. Fails where events or units do not fit together.
base::Result<Diff> diff(const std::vector<DiffProfile>& profiles, DiffOptions options);

// A function that grew by more than it may.
struct Regression {
  uint32_t function = 0;
  bool is_self = false;
  double low = 0;  // lower end of the interval, of the base's total
};

// Functions that are findings and the lower end of whose interval exceeds `limit` (0.02: 2 % of the total before), the
// worst first.
std::vector<Regression> regressions(const Diff& diff, double limit);

// What makes stacks of the sides differ though the code is the same.
std::vector<std::string> stack_warnings(const std::vector<DiffProfile>& profiles, const std::vector<Verdict>& verdicts);

}  // namespace tephra::analysis
