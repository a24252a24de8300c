#include "base/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace tephra::base {
namespace {

constexpr int kDeepest = 64;
constexpr size_t kMostValues = 1'000'000;

void append_utf8(std::string& out, uint32_t code) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<JsonValue> parse() {
    JsonValue value;
    const bool whole = read_value(value, 0) && (skip_space(), at_ == text_.size());
    if (whole) return value;
    return failed("cannot read JSON text", {}, fmt::format("it is malformed at byte {}", at_));
  }

 private:
  bool read_value(JsonValue& value, int depth) {
    skip_space();
    if (at_ == text_.size() || depth > kDeepest || ++values_ > kMostValues) return false;
    switch (text_[at_]) {
      case '{':
        return read_object(value, depth);
      case '[':
        return read_array(value, depth);
      case '"':
        return read_text_value(value);
      case 't':
        value = JsonValue(true);
        return take("true");
      case 'f':
        value = JsonValue(false);
        return take("false");
      case 'n':
        return take("null");
      default:
        return read_number(value);
    }
  }

  bool read_object(JsonValue& value, int depth) {
    JsonValue::Object members;
    ++at_;
    skip_space();
    if (!take('}')) {
      do {
        auto& [name, member] = members.emplace_back();
        skip_space();
        if (!read_text(name)) return false;
        skip_space();
        if (!take(':') || !read_value(member, depth + 1)) return false;
        skip_space();
      } while (take(','));
      if (!take('}')) return false;
    }
    value = JsonValue(std::move(members));
    return true;
  }

  bool read_array(JsonValue& value, int depth) {
    JsonValue::Array elements;
    ++at_;
    skip_space();
    if (!take(']')) {
      do {
        if (!read_value(elements.emplace_back(), depth + 1)) return false;
        skip_space();
      } while (take(','));
      if (!take(']')) return false;
    }
    value = JsonValue(std::move(elements));
    return true;
  }

  bool read_text_value(JsonValue& value) {
    std::string text;
    if (!read_text(text)) return false;
    value = JsonValue(std::move(text));
    return true;
  }

  bool read_text(std::string& out) {
    if (!take('"')) return false;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\') {
        out += c;
      } else if (!read_escape(out)) {
        return false;
      }
    }
    return false;
  }

  bool read_escape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (at_ == text_.size()) return false;
    const char letter = text_[at_++];
    if (letter == 'u') return read_code(out);
    const size_t index = kLetters.find(letter);
    if (index == std::string_view::npos) return false;
    out += kMeanings[index];
    return true;
  }

  // \uXXXX, or two of them that together stand for one character; half of such a pair becomes U+FFFD.
  bool read_code(std::string& out) {
    uint32_t code = 0;
    if (!read_hex(code)) return false;
    if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_).starts_with("\\u")) {
      const size_t before = at_;
      uint32_t low = 0;
      at_ += 2;
      if (!read_hex(low)) return false;
      if (low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      } else {
        at_ = before;
      }
    }
    append_utf8(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
    return true;
  }

  bool read_hex(uint32_t& code) {
    if (text_.size() - at_ < 4) return false;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, begin + 4, code, 16);
    if (error != std::errc() || end != begin + 4) return false;
    at_ += 4;
    return true;
  }

  bool read_number(JsonValue& value) {
    const std::string_view rest = text_.substr(at_);
    double number = 0;
    const size_t digit = rest.starts_with('-') ? 1 : 0;
    // from_chars also takes words such as "inf".
    if (digit >= rest.size() || rest[digit] < '0' || rest[digit] > '9') return false;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc() && error != std::errc::result_out_of_range) return false;
    at_ += static_cast<size_t>(end - rest.data());
    value = JsonValue(number);
    return true;
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t values_ = 0;
};

}  // namespace

const JsonValue& JsonValue::operator[](std::string_view name) const {
  static const JsonValue kNull;
  if (const auto* members = std::get_if<Object>(&value_)) {
    for (const auto& [key, value] : *members) {
      if (key == name) return value;
    }
  }
  return kNull;
}

const JsonValue::Array& JsonValue::elements() const {
  static const Array kNone;
  const auto* elements = std::get_if<Array>(&value_);
  return elements != nullptr ? *elements : kNone;
}

const std::string& JsonValue::text() const {
  static const std::string kEmpty;
  const auto* text = std::get_if<std::string>(&value_);
  return text != nullptr ? *text : kEmpty;
}

double JsonValue::number(double otherwise) const {
  const auto* number = std::get_if<double>(&value_);
  return number != nullptr ? *number : otherwise;
}

bool JsonValue::truth(bool otherwise) const {
  const auto* truth = std::get_if<bool>(&value_);
  return truth != nullptr ? *truth : otherwise;
}

Result<JsonValue> parse_json(std::string_view text) { return Parser(text).parse(); }

}  // namespace tephra::base
