#pragma once

#include <string_view>

namespace tephra::kernel {

// Whether a text is a pattern at all: holds *, ? or [.
bool is_pattern(std::string_view text);

// Whether `text` as a whole matches: * stands for any text, ? for any character, [abc], [a-z] and [!abc] for one of a
// set. Takes at most the product of both lengths, whatever the pattern.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace tephra::kernel
