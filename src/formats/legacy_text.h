#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace tephra::formats {

// What the text formats of gperftools, jemalloc, Go and Java have in common.

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// Where the lines are that tell the format: what has no lines is not searched for one to its end.
inline std::string_view beginning_of_header(base::Bytes bytes) {
  constexpr size_t kMost = 64 << 10;
  return base::as_text(bytes.first(std::min(bytes.size(), kMost)));
}

// Takes the next line off `text`.
inline std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return line;
}

// Whether the line that was taken last off `text`, and left `rest`, is the last, and nothing ends it: it may be cut
// off.
inline bool is_open_end(std::string_view text, std::string_view rest) {
  return rest.empty() && !text.empty() && text.back() != '\n';
}

inline bool is_blank_or_comment(std::string_view line) {
  line = trimmed(line);
  return line.empty() || line.front() == '#';
}

// Takes a text apart from its beginning on.
class TextScanner {
 public:
  explicit TextScanner(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }

  bool skip(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void blanks() { rest_.remove_prefix(std::min(rest_.size(), rest_.find_first_not_of(" \t"))); }

  std::optional<uint64_t> decimal() { return number(10); }
  // With or without 0x before it.
  std::optional<uint64_t> hexadecimal() {
    if (rest_.starts_with("0x")) rest_.remove_prefix(2);
    return number(16);
  }
  // Text up to a blank.
  std::string_view word() {
    const size_t size = std::min(rest_.size(), rest_.find_first_of(" \t"));
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

 private:
  std::optional<uint64_t> number(int base) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    if (error != std::errc{}) return std::nullopt;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }

  std::string_view rest_;
};

// Appends every number of a line that is written 0x…; false when one is too large for an address.
inline bool take_addresses(std::string_view line, std::vector<uint64_t>& addresses) {
  for (size_t at = line.find("0x"); at != std::string_view::npos; at = line.find("0x", at)) {
    TextScanner scanner(line.substr(at));
    const size_t digits = std::min(line.size(), line.find_first_not_of("0123456789abcdef", at + 2));
    if (digits != at + 2) {
      const auto address = scanner.hexadecimal();
      if (!address) return false;
      addresses.push_back(*address);
    }
    at += 2;
  }
  return true;
}

}  // namespace tephra::formats
