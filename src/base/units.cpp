#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace tephra::base {
namespace {

// Three significant digits of a number below 1000.
std::string three_digits(double number) {
  if (number < 9.995) return fmt::format("{:.2f}", number);
  if (number < 99.95) return fmt::format("{:.1f}", number);
  return fmt::format("{:.0f}", number);
}

template <class T>
struct Unit {
  char letter;
  T factor;
};

constexpr Unit<uint64_t> kSizeUnits[] = {{'B', 1}, {'K', 1 << 10}, {'M', 1 << 20}, {'G', 1 << 30}};
constexpr Unit<double> kTimeUnits[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};

// The factor of the letter that ends `text`, which is cut off; 0 where it is none of the units.
template <class T, size_t N>
T take_unit(std::string_view& text, const Unit<T> (&units)[N]) {
  for (const Unit<T>& unit : units) {
    if (!text.ends_with(unit.letter)) continue;
    text.remove_suffix(1);
    return unit.factor;
  }
  return 0;
}

// The whole text as a number.
template <class T>
bool parse_number(std::string_view text, T& number) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace

std::string with_separators(uint64_t number) {
  std::string text = fmt::format("{}", number);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string counted(uint64_t number, std::string_view thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

std::string percent(uint64_t part, uint64_t whole) {
  const double share = whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{:.2f}%", share);
}

std::string bytes_text(uint64_t bytes) {
  static constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double number = static_cast<double>(bytes);
  size_t unit = 0;
  // 999.5 is where three digits would round up to a fourth.
  while (number >= 999.5 && unit + 1 < kUnits.size()) {
    number /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", three_digits(number), kUnits[unit]);
}

std::string duration_text(uint64_t nanoseconds) {
  const uint64_t seconds = nanoseconds / 1'000'000'000;
  if (seconds >= 7200) return fmt::format("{}h {:02}m", seconds / 3600, seconds % 3600 / 60);
  if (seconds >= 120) return fmt::format("{}m {:02}s", seconds / 60, seconds % 60);
  if (nanoseconds < 1000) return fmt::format("{} ns", nanoseconds);
  const double number = static_cast<double>(nanoseconds);
  if (number < 999.5e3) return three_digits(number / 1e3) + " us";
  if (number < 999.5e6) return three_digits(number / 1e6) + " ms";
  return three_digits(number / 1e9) + " s";
}

std::string quantity(uint64_t value, std::string_view unit) {
  if (unit == "ns") return duration_text(value);
  if (unit == "bytes") return bytes_text(value);
  return with_separators(value);
}

Result<uint64_t> parse_size(std::string_view text) {
  std::string_view digits = text;
  const uint64_t factor = take_unit(digits, kSizeUnits);
  uint64_t number = 0;
  if (factor == 0 || !parse_number(digits, number)) {
    return usage_error("not a size", std::string(text), "", "Write a whole number with its unit: B, K, M or G (100M).");
  }
  if (number > UINT64_MAX / factor) return usage_error("not a size", std::string(text), "it is too large");
  return number * factor;
}

Result<double> parse_duration(std::string_view text) {
  std::string_view digits = text;
  const double factor = take_unit(digits, kTimeUnits);
  double number = 0;
  // from_chars takes "inf" and "nan" too.
  if (factor == 0 || !parse_number(digits, number) || !std::isfinite(number * factor) || number <= 0) {
    return usage_error("not a duration", std::string(text), "",
                       "Write a positive number with its unit: s, m, h or d (30s).");
  }
  return number * factor;
}

}  // namespace tephra::base
