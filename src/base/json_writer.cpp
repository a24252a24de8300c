#include "base/json_writer.h"

#include <fmt/format.h>

#include <cmath>

#include "base/escape.h"

namespace tephra::base {
namespace {

bool needs_u_escape(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '<' || c == '>' || c == '&';
}

void append_ascii(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  if (needs_u_escape(c)) {
    out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  } else {
    out += c;
  }
}

// Well-formed UTF-8 of more than one byte.
void append_character(std::string& out, std::string_view character) {
  if (character == "\xE2\x80\xA8") {
    out += "\\u2028";
  } else if (character == "\xE2\x80\xA9") {
    out += "\\u2029";
  } else if (character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF") {
    out += "\\ufffd";  // XML cannot hold these two
  } else {
    out += character;
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) {
      out += "\\ufffd";
    } else if (length == 1) {
      append_ascii(out, text[0]);
    } else {
      append_character(out, text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_json_string(out_, name);
  out_ += style_ == Style::kPretty ? ": " : ":";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_json_string(out_, text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  return raw(fmt::format("{}", number));
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  has_members_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  const bool had_members = has_members_.back();
  has_members_.pop_back();
  if (had_members) new_line();
  out_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view text) {
  separate();
  out_ += text;
  return *this;
}

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_members_.empty()) return;
  if (has_members_.back()) out_ += ',';
  has_members_.back() = true;
  new_line();
}

void JsonWriter::new_line() {
  if (style_ != Style::kPretty) return;
  out_ += '\n';
  out_.append(2 * has_members_.size(), ' ');
}

}  // namespace tephra::base
