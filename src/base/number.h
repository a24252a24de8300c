#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace tephra::base {

// The whole of `text` as a decimal number; nothing where it is something else, or does not fit.
template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace tephra::base
