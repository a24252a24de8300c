#pragma once

#include <string>

#include "analysis/diff.h"
#include "analysis/verdict.h"
#include "views/flame_picture.h"

namespace tephra::views {

// Which side gives frames their width.
enum class DiffWidth : uint8_t {
  kBoth,  // the mean of both, so that what is new and what is gone can both be seen
  kBefore,
  kAfter,
};

struct DiffFlameOptions {
  FlameSvgOptions picture;
  DiffWidth width = DiffWidth::kBoth;
  bool negate = false;  // blue grew, red shrank
};

// A flame graph of both sides: red grew, blue shrank, the stronger the more; grey is within noise. Each frame's details
// have both sides, the change, its interval and its false-discovery rate.
std::string diff_flame(const analysis::Diff& diff, const analysis::Verdict& verdict, const DiffFlameOptions& options);

}  // namespace tephra::views
