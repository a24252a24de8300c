#include "kernel/status_text.h"

#include <algorithm>
#include <charconv>

namespace tephra::kernel {
namespace {

constexpr std::string_view kBlanks = " \t";

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  while (!text.empty() && kBlanks.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

std::optional<uint64_t> leading_number(std::string_view text, int base) {
  uint64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value, base).ec != std::errc()) return std::nullopt;
  return value;
}

}  // namespace

std::string_view field_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const auto line = text.substr(0, end);
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == name) {
      return trimmed(line.substr(colon + 1));
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return {};
}

std::optional<uint64_t> number_of(std::string_view text, std::string_view name, int base) {
  return leading_number(field_of(text, name), base);
}

std::optional<uint64_t> last_number_of(std::string_view text, std::string_view name) {
  const auto words = field_of(text, name);
  const size_t blank = words.find_last_of(kBlanks);
  return leading_number(blank == std::string_view::npos ? words : words.substr(blank + 1), 10);
}

}  // namespace tephra::kernel
