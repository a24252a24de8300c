#pragma once

#include <string>
#include <vector>

#include "analysis/diff.h"
#include "analysis/verdict.h"

namespace tephra::views {

// What a view tells of a side beside its numbers.
struct DiffSideText {
  std::vector<std::string> files;
  analysis::Verdict verdict;  // the worst of its profiles
  std::string worst;          // whose verdict that is, where there are several profiles
  bool all_alike = true;      // they have the same grade
};

struct DiffTextOptions {
  size_t limit = 20;     // rows of each table; 0: all
  bool all = false;      // also functions within noise
  bool color = false;    // grown red, shrunk green, for terminals
  bool shorten = false;  // template arguments collapsed
};

// A number of the comparison with its unit: "15.02 %", "1.25 s", "1.25 ms a second". `sign`: with + before growth.
std::string diff_amount(const analysis::Diff& diff, double value, bool sign = false);

// How values are normalised, in one sentence.
std::string normalisation_text(const analysis::Diff& diff);

// What was compared, what changed, and what is within noise.
std::string diff_text(const analysis::Diff& diff, const DiffSideText& before, const DiffSideText& after,
                      const DiffTextOptions& options);

// The lines that say why --fail-if failed; empty where it did not.
std::string regressions_text(const analysis::Diff& diff, const std::vector<analysis::Regression>& found, double limit);

}  // namespace tephra::views
