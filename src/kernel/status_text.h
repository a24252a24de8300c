#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tephra::kernel {

// The text behind "NAME:" in a file of such lines (/proc/PID/status, /proc/PID/io, /proc/cpuinfo), without blanks
// around it; empty where there is no such line.
std::string_view field_of(std::string_view text, std::string_view name);
// The first number of that field.
std::optional<uint64_t> number_of(std::string_view text, std::string_view name, int base = 10);
// The last of the blank-separated words of a field: the innermost namespace's value of NSpid.
std::optional<uint64_t> last_number_of(std::string_view text, std::string_view name);

}  // namespace tephra::kernel
