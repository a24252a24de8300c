#include "views/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/escape.h"

namespace tephra::views {
namespace {

bool plain(char c) { return c >= 0x20 && c < 0x7f; }

// U+0080 to U+009F, which some terminals obey as they do escape sequences.
bool is_c1_control(std::string_view character) {
  return character.size() == 2 && character[0] == '\xc2' && static_cast<unsigned char>(character[1]) < 0xa0;
}

// Characters that are not seen and change how others are: marks of direction, joiners, soft hyphens. A name could look
// like another one by them.
bool is_unseen(uint32_t code) {
  return code == 0xad || code == 0x61c || code == 0x180e || (code >= 0x200b && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
         (code >= 0xfff9 && code <= 0xfffb) || (code >= 0xe0000 && code <= 0xe007f);
}

// Of one character of valid UTF-8 that has more than one byte.
uint32_t code_of(std::string_view character) {
  uint32_t code = static_cast<unsigned char>(character[0]) & (0xffU >> (character.size() + 1));
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3fU);
  return code;
}

}  // namespace

void append_printable(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const auto run = static_cast<size_t>(std::find_if_not(text.begin(), text.end(), plain) - text.begin());
    out.append(text.substr(0, run));
    text.remove_prefix(run);
    if (text.empty()) return;
    const size_t length = base::utf8_length(text);
    if (length > 1 && !is_c1_control(text.substr(0, length))) {
      const uint32_t code = code_of(text.substr(0, length));
      if (is_unseen(code)) {
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
      } else {
        out.append(text.substr(0, length));
      }
      text.remove_prefix(length);
      continue;
    }
    const auto byte = static_cast<unsigned char>(text[0]);
    if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\t') {
      out += "\\t";
    } else {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    }
    text.remove_prefix(1);
  }
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  append_printable(out, text);
  return out;
}

size_t columns(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace tephra::views
