#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/verdict.h"

namespace tephra::analysis {

// What a profile says of itself that was judged before it was converted: in its comments, as one_line() has it.
struct ToldVerdict {
  Grade grade = Grade::kFair;
  std::string figures;  // and reasons, printable, on one line
};

// The worst of all; of equal ones the first, which tells of the origin. Nothing: none was fair or poor.
std::optional<ToldVerdict> told_verdict(const std::vector<std::string>& comments);

}  // namespace tephra::analysis
