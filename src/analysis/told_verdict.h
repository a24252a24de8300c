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
  bool joined = false;  // there are verdicts on several profiles, which were joined
};

// The worst of all; of equal ones the first. Where it repeats what was said before, that, which tells of the origin.
// Nothing: none was fair or poor.
std::optional<ToldVerdict> told_verdict(const std::vector<std::string>& comments);

// What repeats the words of a verdict on what a profile was made of; the figures of that one follow.
inline constexpr std::string_view kVerdictRepeated = "It said: ";

// Puts the line of a verdict in the place of all that are among the comments.
void replace_verdicts(std::vector<std::string>& comments, std::string line);

}  // namespace tephra::analysis
