#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tephra::views {

// Text that cannot harm a terminal or forge a line, whatever name it came from: control characters and bytes that are
// not UTF-8 become escapes such as \n and \x1b.
void append_printable(std::string& out, std::string_view text);
std::string printable(std::string_view text);

// How many columns UTF-8 text takes, at one column a character.
size_t columns(std::string_view text);

}  // namespace tephra::views
