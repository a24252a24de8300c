#include "base/names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace tephra::base {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr size_t kLongestShownParameters = 16;
constexpr std::string_view kEllipsis = "\u2026";

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// The operators whose spelling has brackets, longest first.
constexpr std::array<std::string_view, 13> kBracketOperators{
    "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "[]", "<", ">"};

// The length of an `operator` with a bracket in its symbol at `at`; 0 where there is none.
size_t operator_length(std::string_view name, size_t at) {
  constexpr std::string_view kWord = "operator";
  if (name.substr(at, kWord.size()) != kWord || (at > 0 && is_word(name[at - 1]))) return 0;
  const auto rest = name.substr(at + kWord.size());
  for (const auto symbol : kBracketOperators) {
    if (rest.starts_with(symbol)) return kWord.size() + symbol.size();
  }
  return 0;
}

char closer_of(char open) { return open == '<' ? '>' : open == '(' ? ')' : open == '{' ? '}' : ']'; }

// For every opening bracket the index of its closing one, kNone where there is none. A `>` within parentheses that
// were opened later than the `<`, or after a dash, closes nothing; a `)` also ends every `<` opened inside.
class Brackets {
 public:
  explicit Brackets(std::string_view name) : match_(name.size(), kNone) {
    for (size_t i = 0; i < name.size(); ++i) {
      if (const size_t skip = operator_length(name, i)) {
        i += skip - 1;
        continue;
      }
      see(name, i);
    }
  }

  uint32_t closing(size_t open) const { return match_[open]; }

 private:
  void see(std::string_view name, size_t i) {
    const char c = name[i];
    if (c == '<' || c == '(' || c == '{' || c == '[') {
      open_.push_back(static_cast<uint32_t>(i));
      ++unclosed_[c];
    } else if (c == '>') {
      if ((i > 0 && name[i - 1] == '-') || open_.empty() || name[open_.back()] != '<') return;
      close(name, i);
    } else if (c == ')' || c == '}' || c == ']') {
      if (unclosed_[c == ')' ? '(' : c == '}' ? '{' : '['] == 0) return;
      while (closer_of(name[open_.back()]) != c) drop(name);
      close(name, i);
    }
  }
  void close(std::string_view name, size_t i) {
    match_[open_.back()] = static_cast<uint32_t>(i);
    drop(name);
  }
  void drop(std::string_view name) {
    --unclosed_[name[open_.back()]];
    open_.pop_back();
  }

  std::vector<uint32_t> match_;
  std::vector<uint32_t> open_;
  std::array<uint32_t, 128> unclosed_{};
};

// Whether the angle brackets at `at` hold a part of the name itself, to be kept, and not arguments: Rust's
// `<T as Trait>::f` and `<impl Trait for T>`, Java's `<init>`, `<lambda(int)>`.
bool names_something(std::string_view name, size_t at, std::string_view content) {
  const char before = at == 0 ? '\0' : name[at - 1];
  if (before == ':') {
    return content.starts_with("impl ") || content.starts_with("lambda") || content == "init" || content == "clinit";
  }
  if (before != ' ') return !is_word(before) && before != '>' && before != ']' && before != '}' && before != ')';
  const auto words = name.substr(0, at - 1);  // `operator< <int>`: a space before arguments
  return words.empty() || is_word(words.back()) || words.ends_with("->") || words.ends_with(",");
}

class Shortener {
 public:
  explicit Shortener(std::string_view name) : name_(name), brackets_(name) {}

  std::string run() {
    for (at_ = 0; at_ < name_.size();) step();
    return std::move(out_);
  }

 private:
  void step() {
    if (const size_t length = operator_length(name_, at_)) return copy(length);
    const char c = name_[at_];
    if (c == '<') return angle();
    if (c == '(') return parameters();
    copy(1);
  }

  void angle() {
    const uint32_t end = brackets_.closing(at_);
    if (end == kNone) return copy(1);
    const auto content = name_.substr(at_ + 1, end - at_ - 1);
    if (content.empty() || names_something(name_, at_, content)) return copy(1);
    replace('<', '>', end);
  }

  void parameters() {
    const uint32_t end = brackets_.closing(at_);
    if (end == kNone || end - at_ - 1 <= kLongestShownParameters) return copy(1);
    if (name_.substr(at_ + 1, end - at_ - 1) == "anonymous namespace") return copy(end + 1 - at_);
    replace('(', ')', end);
  }

  void copy(size_t length) {
    out_ += name_.substr(at_, length);
    at_ += length;
  }
  void replace(char open, char close, size_t end) {
    out_ += open;
    out_ += kEllipsis;
    out_ += close;
    at_ = end + 1;
  }

  std::string_view name_;
  Brackets brackets_;
  std::string out_;
  size_t at_ = 0;
};

bool is_safe_in_file_name(char c) {
  return (is_word(c) && c != '$' && static_cast<unsigned char>(c) < 0x80) || c == '.' || c == '+' || c == '=' ||
         c == '-';
}

}  // namespace

std::string shorten_cpp_name(std::string_view name) {
  if (name.find_first_of("<(") == std::string_view::npos) return std::string(name);
  return Shortener(name).run();
}

std::string safe_file_name(std::string_view text) {
  constexpr size_t kLongest = 100;
  std::string out(text.substr(0, kLongest));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return !is_safe_in_file_name(c); }, '_');
  for (size_t i = 0; i < out.size() && (out[i] == '.' || out[i] == '-'); ++i) out[i] = '_';
  return out.empty() ? "unnamed" : out;
}

std::string_view path_base_name(std::string_view path) {
  const auto base = path.substr(path.rfind('/') + 1);
  return base.empty() ? path : base;
}

}  // namespace tephra::base
