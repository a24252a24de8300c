#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tephra::views {

// Text that cannot harm a terminal or forge a line, whatever name it came from: control characters, bytes that are
// not UTF-8, and characters that are not seen (marks of direction) become escapes such as \n, \x1b and \u202e.
void append_printable(std::string& out, std::string_view text);
std::string printable(std::string_view text);

// How many columns UTF-8 text takes, at one column a character.
size_t columns(std::string_view text);

}  // namespace tephra::views
