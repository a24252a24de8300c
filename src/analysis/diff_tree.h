#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/diff_functions.h"
#include "model/profile.h"

namespace tephra::analysis {

// What values are divided by, so that two sides can be compared.
enum class DiffBy : uint8_t {
  kShare,   // all that its recording holds: a share
  kTime,    // nothing: what a recording comes to, as CPU time of a run
  kSecond,  // how long was recorded
  kWork,    // units of work that the user counted
};

// What a sample weighs.
enum class DiffWeight : uint8_t { kSamples, kValue };

// A part of a side that is measured by itself: one of several recordings, or a part of the time of the only one. How
// much parts of the same side differ tells how far numbers can be trusted.
struct DiffUnit {
  double whole = 0;  // the weight of all samples in it
  double size = 0;   // what the variance of its rate shrinks with: samples for shares, else the divisor times `samples
                     // a unit of weight`
};

// What the samples of a side come to, as far as it is the same for all functions.
struct DiffSums {
  bool replicates = false;      // units are recordings; else parts of one
  std::vector<DiffUnit> units;  // at least one
  model::Totals whole;
  double divisor = 1;              // of the side: what weights are divided by
  double sum_of_sizes = 0;         // of all units
  double mean_inverse_size = 0;    // of the units
  double weight_of_units = 0;      // sum of the weights with which units enter means
  double samples_of_weight = 1;    // independent samples for one unit of weight: fewer where weights differ
  double seconds = 0;              // that were recorded, all recordings together; 0 where unknown
  bool has_times = false;          // samples do
  double unit_seconds = 0;         // how long a part is; 0: units are whole recordings
  uint64_t effective_samples = 0;  // as many of equal weight tell as much
};

// Sums over the units of a side for one thing that is counted: with rate r and weight w of a unit, the sums of w·r, of
// w·r², and of half the squared steps of r from one unit to the next, times w. Steps that are smaller than squares tell
// that what makes units differ goes on for longer than a unit.
struct DiffMoments {
  double first = 0;
  double second = 0;
  double steps = 0;
};

// A call path of either side; in the order of their making, parents before children.
struct DiffNode {
  uint32_t parent = 0;    // the root's is itself
  uint32_t function = 0;  // row of DiffTree::functions; the root's is DiffFunctions::kNone
  uint32_t depth = 0;
  uint32_t first_child = 0;   // 0: none
  uint32_t next_sibling = 0;  // 0: none; in the order of names
  bool outermost = true;      // no caller is the same function: where recursion counts
  model::Totals self[kDiffSides];
  model::Totals total[kDiffSides];
  DiffMoments moments[kDiffSides];  // of the total
};

struct DiffFunctionSums {
  model::Totals self[kDiffSides];
  model::Totals total[kDiffSides];  // a sample in which it is several times counts once
  DiffMoments self_moments[kDiffSides];
  DiffMoments total_moments[kDiffSides];
};

// The stacks of both sides in one tree. The sums of `self` over all nodes are the totals of the profiles.
struct DiffTree {
  std::vector<DiffNode> nodes;  // node 0 is the root
  std::vector<DiffFunctionName> functions;
  std::vector<DiffFunctionSums> sums;  // of the functions
  DiffSums sides[kDiffSides];
  std::vector<std::pair<std::string, std::string>> joined_threads;
  std::set<std::string> not_renamed;  // as DiffFunctions has it
  DiffBy by = DiffBy::kShare;
  DiffWeight weight = DiffWeight::kSamples;
};

struct DiffTreeOptions {
  DiffBy by = DiffBy::kShare;
  DiffWeight weight = DiffWeight::kSamples;
  bool threads = true;  // stacks stand on the name of their thread
  DiffMatchOptions match;
};

// Of profiles with samples of one event; both sides must have one. A side of one profile whose samples have times is
// cut into parts of one second, or longer ones where there would be more than 20.
DiffTree diff_tree(const std::vector<DiffProfile>& profiles, const DiffTreeOptions& options);

}  // namespace tephra::analysis
