#include "base/escape.h"

#include <algorithm>

#include <cstdint>

namespace tephra::base {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

uint8_t byte_at(std::string_view text, size_t index) { return static_cast<uint8_t>(text[index]); }

bool continues(std::string_view text, size_t index) {
  return index < text.size() && (byte_at(text, index) & 0xC0) == 0x80;
}

// The second byte tells overlong forms, surrogates and values above U+10FFFF apart from good ones.
bool second_byte_fits(uint8_t first, uint8_t second) {
  switch (first) {
    case 0xE0:
      return second >= 0xA0;
    case 0xED:
      return second < 0xA0;
    case 0xF0:
      return second >= 0x90;
    case 0xF4:
      return second < 0x90;
    default:
      return true;
  }
}

// U+2400 and on show the control character of the same number; U+2421 shows DEL.
void append_control_picture(std::string& out, uint8_t control) {
  out += "\xE2\x90";
  out += static_cast<char>(control == 0x7F ? 0xA1 : 0x80 + control);
}

// Characters of two and three bytes that are UTF-8 and yet not welcome in XML: C1 controls, U+FFFE and U+FFFF.
bool unwelcome_in_xml(std::string_view character) {
  if (character.size() == 2) return byte_at(character, 0) == 0xC2 && byte_at(character, 1) < 0xA0;
  return character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF";
}

bool is_plain_in_xml(char c) {
  return c >= 0x20 && c < 0x7F && c != '&' && c != '<' && c != '>' && c != '"' && c != '\'';
}

void append_xml_ascii(std::string& out, char c) {
  switch (c) {
    case '&':
      out += "&amp;";
      return;
    case '<':
      out += "&lt;";
      return;
    case '>':
      out += "&gt;";
      return;
    case '"':
      out += "&quot;";
      return;
    case '\'':
      out += "&#39;";
      return;
    default:
      break;
  }
  if (static_cast<uint8_t>(c) < 0x20 || c == 0x7F) {
    append_control_picture(out, static_cast<uint8_t>(c));
  } else {
    out += c;
  }
}

}  // namespace

size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const uint8_t first = byte_at(text, 0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (size_t i = 1; i < length; ++i) {
    if (!continues(text, i)) return 0;
  }
  return second_byte_fits(first, byte_at(text, 1)) ? length : 0;
}

std::string to_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    out += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

void append_xml(std::string& out, std::string_view text) {
  while (!text.empty()) {
    // Most characters are as they are.
    const auto special = std::find_if(text.begin(), text.end(), [](char c) { return !is_plain_in_xml(c); });
    const auto plain = static_cast<size_t>(special - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) return;
    const size_t length = utf8_length(text);
    if (length == 1) {
      append_xml_ascii(out, text[0]);
    } else if (length == 0 || unwelcome_in_xml(text.substr(0, length))) {
      out += kReplacement;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

std::string xml_escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 8);
  append_xml(out, text);
  return out;
}

}  // namespace tephra::base
