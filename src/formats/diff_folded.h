#pragma once

#include <span>
#include <string>

#include "model/profile.h"

namespace tephra::formats {

// What difffolded.pl's options say.
struct DiffFoldedOptions {
  bool normalise = false;  // -n: the first numbers are scaled to the sum of the second, fractions dropped
  bool strip_hex = false;  // -s: hexadecimal numbers become "0x...", so that stacks with other addresses are one
  bool by_value = false;   // sums of periods, not numbers of samples
};

// Folded stacks with two numbers a line, before and after: what difffolded.pl writes of the folded stacks of both
// sides. Lines are sorted.
std::string write_diff_folded(std::span<const model::Profile* const> before,
                              std::span<const model::Profile* const> after, const DiffFoldedOptions& options);

}  // namespace tephra::formats
