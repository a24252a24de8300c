#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tephra::base {

// Numbers as people read them. All of it is plain ASCII and does not depend on the locale.

// "1,234,567"
std::string with_separators(uint64_t number);

// part/whole of one hundred with two decimals, "73.21%"; zero of zero is "0.00%".
std::string percent(uint64_t part, uint64_t whole);

// "1 sample", "2 samples".
std::string counted(uint64_t number, std::string_view thing);

// Three significant digits in powers of 1024: "512 B", "1.50 KiB", "23.4 MiB".
std::string bytes_text(uint64_t bytes);

// Three significant digits: "870 ns", "1.25 us", "12.0 ms", "3.40 s"; from two minutes on "2m 05s", "3h 07m".
std::string duration_text(uint64_t nanoseconds);

// A value in its event's unit: a duration for "ns", bytes for "bytes", else a number with separators.
std::string quantity(uint64_t value, std::string_view unit);

// Bytes of a size as perf's options take it: a whole number and one of B, K, M, G. Errors are of the command line.
Result<uint64_t> parse_size(std::string_view text);

// Seconds of a duration: a positive number and one of s, m, h, d ("1.5h").
Result<double> parse_duration(std::string_view text);

}  // namespace tephra::base
