#include "base/units.h"

#include <fmt/format.h>

#include <array>

namespace tephra::base {
namespace {

// Three significant digits of a number below 1000.
std::string three_digits(double number) {
  if (number < 9.995) return fmt::format("{:.2f}", number);
  if (number < 99.95) return fmt::format("{:.1f}", number);
  return fmt::format("{:.0f}", number);
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

}  // namespace tephra::base
