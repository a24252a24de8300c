#include "base/json_tape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace tephra::base {
namespace {

using Kind = Json::Kind;

// A word: the kind in its highest byte, below it an integer itself, or where in the text a number begins or a string
// behind its quote, or for arrays and objects the place behind them, with the number of their elements in the word
// after.
constexpr int kPayloadBits = 56;
constexpr uint64_t kPayloadMask = (uint64_t{1} << kPayloadBits) - 1;
constexpr int64_t kLargestInline = int64_t{1} << (kPayloadBits - 1);

constexpr uint64_t word(Kind kind, uint64_t payload) {
  return static_cast<uint64_t>(kind) << kPayloadBits | (payload & kPayloadMask);
}

constexpr std::string_view kEscapes = "\"\\/bfnrt";
constexpr std::string_view kEscaped = "\"\\/\b\f\n\r\t";

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

// Four hexadecimal digits; false where there are not.
bool read_hex(std::string_view text, size_t at, uint32_t& code) {
  if (text.size() - at < 4) return false;
  const char* begin = text.data() + at;
  const auto [end, error] = std::from_chars(begin, begin + 4, code, 16);
  return error == std::errc() && end == begin + 4;
}

// What stands behind `\u` at `at`, or two such that together stand for one character; half of such a pair is U+FFFD.
// Moves `at` behind it.
void append_code(std::string& out, std::string_view text, size_t& at) {
  uint32_t code = 0;
  read_hex(text, at, code);
  at += 4;
  uint32_t low = 0;
  const bool high = code >= 0xd800 && code < 0xdc00;
  if (high && text.substr(at).starts_with("\\u") && read_hex(text, at + 2, low) && low >= 0xdc00 && low < 0xe000) {
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    at += 6;
  }
  append_utf8(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
}

// The text behind a quote up to the next; its escapes are known to be right.
void unescape(std::string_view text, size_t at, std::string& out) {
  out.clear();
  while (text[at] != '"') {
    const size_t plain = text.find_first_of("\"\\", at);
    out.append(text.substr(at, plain - at));
    at = plain;
    if (text[at] != '\\') break;
    const char letter = text[at + 1];
    at += 2;
    if (letter == 'u') {
      append_code(out, text, at);
    } else {
      out += kEscaped[kEscapes.find(letter)];
    }
  }
}

// Characters that end a run of plain text inside a string.
constexpr std::array<bool, 256> special_characters() {
  std::array<bool, 256> special{};
  for (size_t i = 0; i < 0x20; ++i) special[i] = true;
  special['"'] = special['\\'] = true;
  return special;
}
constexpr auto kSpecial = special_characters();

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

class JsonTapeParser {
 public:
  JsonTapeParser(std::string_view text, const JsonTape::Limits& limits) : limits_(limits), tape_(text), text_(text) {}

  Result<JsonTape> parse() {
    // Most profiles have some five bytes a value.
    tape_.words_.reserve(text_.size() / 6 + 8);
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
    skip_space();
    bool whole = read_value();
    while (whole && !open_.empty()) whole = read_next();
    if (whole) {
      skip_space();
      whole = at_ == text_.size() || fail("there is more behind its value");
    }
    if (!whole && !close_where_cut()) {
      return failed("cannot read JSON text", {}, fmt::format("it is malformed at byte {}: {}", at_, why_));
    }
    return std::move(tape_);
  }

 private:
  struct Open {
    size_t at = 0;  // on the tape
    uint64_t count = 0;
    bool object = false;
  };

  // What is next in the innermost array or object: its end, or another element or member.
  bool read_next() {
    Open& open = open_.back();
    skip_space();
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == (open.object ? '}' : ']')) {
      ++at_;
      close();
      return true;
    }
    if (open.count > 0) {
      if (c != ',') return fail(open.object ? "expected , or }" : "expected , or ]");
      ++at_;
      skip_space();
    }
    const size_t before = tape_.words_.size();
    if (open.object && !read_key()) return false;
    ++open.count;
    if (read_value()) return true;
    // What is not whole is not there.
    tape_.words_.resize(before);
    --open.count;
    return false;
  }

  bool read_key() {
    if (at_ == text_.size() || text_[at_] != '"') return fail("expected a name in quotes");
    const size_t before = tape_.words_.size();
    if (!read_text()) return false;
    skip_space();
    if (at_ < text_.size() && text_[at_] == ':') {
      ++at_;
      skip_space();
      return true;
    }
    tape_.words_.resize(before);
    return fail("expected :");
  }

  bool read_value() {
    if (++values_ > limits_.values) return fail("it holds too many values");
    if (at_ == text_.size()) return fail("it ends where a value should be");
    switch (text_[at_]) {
      case '{':
        return open(Kind::kObject);
      case '[':
        return open(Kind::kArray);
      case '"':
        return read_text();
      case 't':
        return read_word("true", Kind::kTrue);
      case 'f':
        return read_word("false", Kind::kFalse);
      case 'n':
        return read_word("null", Kind::kNull);
      default:
        return read_number();
    }
  }

  bool open(Kind kind) {
    if (open_.size() >= limits_.depth) return fail("it nests too deeply");
    open_.push_back({tape_.words_.size(), 0, kind == Kind::kObject});
    tape_.words_.push_back(word(kind, 0));
    tape_.words_.push_back(0);
    ++at_;
    return true;
  }

  void close() {
    const Open& open = open_.back();
    tape_.words_[open.at] |= tape_.words_.size() & kPayloadMask;
    tape_.words_[open.at + 1] = open.count;
    open_.pop_back();
  }

  // Whether the text ended inside of an array or object and that is taken for its end. What had begun in the outermost
  // array is left out: half an element could say what the whole does not.
  bool close_where_cut() {
    if (limits_.ending != JsonTape::Ending::kCut || !ended_ || open_.empty()) return false;
    const auto array = std::find_if(open_.begin(), open_.end(), [](const Open& open) { return !open.object; });
    if (array != open_.end() && array + 1 != open_.end()) {
      tape_.words_.resize((array + 1)->at);
      --array->count;
      open_.erase(array + 1, open_.end());
    }
    while (!open_.empty()) close();
    tape_.was_cut_ = true;
    return true;
  }

  bool read_text() {
    const size_t begin = ++at_;
    Kind kind = Kind::kText;
    for (;;) {
      while (at_ < text_.size() && !kSpecial[static_cast<unsigned char>(text_[at_])]) ++at_;
      if (at_ == text_.size()) return fail("a string has no end");
      if (text_[at_] == '"') break;
      if (text_[at_] != '\\') return fail("a string holds a control character");
      kind = Kind::kEscapedText;
      if (!skip_escape()) return false;
    }
    ++at_;
    tape_.words_.push_back(word(kind, begin));
    return true;
  }

  bool skip_escape() {
    const std::string_view rest = text_.substr(at_);
    uint32_t code = 0;
    const bool by_code = rest.size() > 1 && rest[1] == 'u';
    const bool known = rest.size() > 1 &&
                       (by_code ? read_hex(text_, at_ + 2, code) : kEscapes.find(rest[1]) != std::string_view::npos);
    if (!known) {
      ended_ = rest.size() < (by_code ? 6u : 2u);
      return fail("a string holds an unknown escape");
    }
    at_ += by_code ? 6 : 2;
    return true;
  }

  bool read_word(std::string_view name, Kind kind) {
    const std::string_view rest = text_.substr(at_, name.size());
    if (rest != name) {
      ended_ = name.starts_with(rest);
      return fail("expected a value");
    }
    at_ += name.size();
    tape_.words_.push_back(word(kind, 0));
    return true;
  }

  bool read_number() {
    const char* const begin = text_.data() + at_;
    const char* const limit = text_.data() + text_.size();
    const char* digit = begin + (*begin == '-' ? 1 : 0);
    // from_chars also takes words such as "inf".
    if (digit == limit || !is_digit(*digit)) {
      ended_ = digit == limit;
      return fail("expected a value");
    }
    int64_t number = 0;
    const auto [end, error] = std::from_chars(begin, limit, number);
    const bool fraction = end != limit && (*end == '.' || *end == 'e' || *end == 'E');
    if (error == std::errc() && !fraction && number < kLargestInline && number >= -kLargestInline) {
      tape_.words_.push_back(word(Kind::kInteger, static_cast<uint64_t>(number)));
      at_ += static_cast<size_t>(end - begin);
      return true;
    }
    tape_.words_.push_back(word(Kind::kNumber, at_));
    double wide = 0;
    at_ += static_cast<size_t>(std::from_chars(begin, limit, wide).ptr - begin);
    return true;
  }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) {
      ++at_;
    }
  }

  bool fail(std::string_view why) {
    why_ = why;
    ended_ = ended_ || at_ == text_.size();
    return false;
  }

  const JsonTape::Limits limits_;
  JsonTape tape_;
  std::string_view text_;
  size_t at_ = 0;
  size_t values_ = 0;
  std::vector<Open> open_;
  std::string_view why_;
  bool ended_ = false;  // what is wrong is that the text ends
};

Result<JsonTape> JsonTape::parse(std::string_view text, const Limits& limits) {
  return JsonTapeParser(text, limits).parse();
}

Json::Kind Json::kind() const {
  return tape_ == nullptr ? Kind::kNull : static_cast<Kind>(tape_->words_[at_] >> kPayloadBits);
}

uint64_t Json::payload() const { return tape_->words_[at_] & kPayloadMask; }

size_t Json::behind() const { return is_array() || is_object() ? payload() : at_ + 1; }

size_t Json::size() const { return is_array() || is_object() ? tape_->words_[at_ + 1] : 0; }

Json Json::operator[](std::string_view name) const {
  std::string storage;
  for (const auto& [key, value] : members()) {
    const std::string_view rest = tape_->text_.substr(key.payload());
    const bool same =
        key.kind() == Kind::kText ? rest.starts_with(name) && rest[name.size()] == '"' : key.text(storage) == name;
    if (same) return value;
  }
  return {};
}

std::string_view Json::text(std::string& storage) const {
  if (kind() == Kind::kText) {
    const std::string_view rest = tape_->text_.substr(payload());
    return rest.substr(0, rest.find('"'));
  }
  if (kind() != Kind::kEscapedText) return {};
  unescape(tape_->text_, payload(), storage);
  return storage;
}

std::string Json::text() const {
  std::string storage;
  return std::string(text(storage));
}

double Json::number(double otherwise) const {
  if (kind() == Kind::kInteger) return static_cast<double>(integer());
  if (kind() != Kind::kNumber) return otherwise;
  const std::string_view rest = tape_->text_.substr(payload());
  double number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc::result_out_of_range) return number;
  // Too large, or too near to zero: from_chars does not tell which.
  return std::strtod(std::string(rest.data(), end).c_str(), nullptr);
}

int64_t Json::integer(int64_t otherwise) const {
  if (kind() == Kind::kInteger) return static_cast<int64_t>(payload() << (64 - kPayloadBits)) >> (64 - kPayloadBits);
  if (kind() != Kind::kNumber) return otherwise;
  const std::string_view rest = tape_->text_.substr(payload());
  int64_t whole = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), whole);
  const bool fraction = end != rest.data() + rest.size() && (*end == '.' || *end == 'e' || *end == 'E');
  if (error == std::errc() && !fraction) return whole;
  const double value = number();
  return std::trunc(value) == value && std::abs(value) < 9.2e18 ? static_cast<int64_t>(value) : otherwise;
}

bool Json::truth(bool otherwise) const {
  if (kind() == Kind::kTrue) return true;
  return kind() == Kind::kFalse ? false : otherwise;
}

Json::Elements Json::elements() const {
  if (!is_array()) return {};
  return {Json(tape_, at_ + 2), Json(tape_, payload())};
}

Json::Members Json::members() const {
  if (!is_object()) return {};
  return {Json(tape_, at_ + 2), Json(tape_, payload())};
}

}  // namespace tephra::base
