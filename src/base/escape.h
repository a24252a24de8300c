#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tephra::base {

// The length (1 to 4) of the well-formed UTF-8 character `text` begins with; 0 when it begins with none.
size_t utf8_length(std::string_view text);

// Text as UTF-8 whatever bytes come in: each malformed byte becomes U+FFFD.
std::string to_utf8(std::string_view text);

// Appends text that is safe inside XML elements and quoted attributes: markup is escaped, malformed bytes and
// characters XML forbids are replaced. Control characters become visible pictures (U+2400…), line breaks and tabs too,
// so that a name is always one line; text that has real lines is written line by line.
void append_xml(std::string& out, std::string_view text);
std::string xml_escape(std::string_view text);

}  // namespace tephra::base
