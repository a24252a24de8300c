#include "formats/script_lines.h"

#include <algorithm>

namespace tephra::formats {
namespace {

size_t skip_spaces(std::string_view text, size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

size_t skip_digits(std::string_view text, size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

struct Ids {
  std::string_view first;
  std::string_view second;
};

// "24636/25607 " at `at`: a number, perhaps slashes and another, and white space behind.
std::optional<Ids> parse_ids(std::string_view line, size_t at) {
  const size_t first_end = skip_digits(line, at);
  if (first_end == at) return std::nullopt;
  size_t second = first_end;
  while (second < line.size() && line[second] == '/') ++second;
  const size_t end = skip_digits(line, second);
  if (end == line.size() || !is_space(line[end])) return std::nullopt;
  return Ids{line.substr(at, first_end - at), line.substr(second, end - second)};
}

// The end of the line: ": PERIOD EVENT:", where the period may be missing.
void parse_event(std::string_view line, EventLine& parsed) {
  while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
  if (!line.ends_with(':')) return;
  line.remove_suffix(1);
  size_t begin = line.size();
  while (begin > 0 && !is_space(line[begin - 1])) --begin;
  const std::string_view event = line.substr(begin);
  if (event.empty() || begin == 0) return;
  size_t at = begin;
  while (at > 0 && is_space(line[at - 1])) --at;
  const size_t period_end = at;
  while (at > 0 && is_digit(line[at - 1])) --at;
  const size_t period = at;
  while (at > 0 && period < period_end && is_space(line[at - 1])) --at;
  if (at == 0 || line[at - 1] != ':') return;
  parsed.period = line.substr(period, period_end - period);
  parsed.event = event;
}

}  // namespace

std::optional<EventLine> parse_event_line(std::string_view line) {
  constexpr size_t kShortestComm = 2;  // names of one letter take the space behind them
  if (line.empty() || is_space(line[0])) return std::nullopt;
  for (size_t at = 1; at < line.size();) {
    while (at < line.size() && !is_space(line[at])) ++at;
    const size_t comm_end = std::max(at, kShortestComm);
    at = skip_spaces(line, at);
    if (at <= comm_end) continue;
    const auto ids = parse_ids(line, at);
    if (!ids) continue;
    EventLine parsed{line.substr(0, comm_end), ids->first, ids->second, {}, {}};
    if (parsed.tid.empty() || parsed.tid == "0") {
      parsed.tid = parsed.pid;
      parsed.pid = {};
    }
    parse_event(line, parsed);
    return parsed;
  }
  return std::nullopt;
}

std::optional<FrameLine> parse_frame_line(std::string_view line) {
  const size_t end = line.rfind(')');
  if (end == std::string_view::npos || end < 2) return std::nullopt;
  const size_t bracket = line.rfind(" (", end - 2);
  if (bracket == std::string_view::npos) return std::nullopt;
  const size_t address = skip_spaces(line, 0);
  size_t address_end = address;
  while (address_end < line.size() && is_word(line[address_end])) ++address_end;
  if (address_end == address) return std::nullopt;
  size_t function = skip_spaces(line, address_end);
  // Where nothing stands between address and module, what is before the bracket is taken apart nevertheless.
  if (function > bracket) function = bracket - 1;
  address_end = std::min(address_end, function);
  if (address_end == address) return std::nullopt;
  return FrameLine{line.substr(address, address_end - address), line.substr(function, bracket - function),
                   line.substr(bracket + 2, end - bracket - 2)};
}

std::string_view without_offset(std::string_view function) {
  size_t digits = function.size();
  while (digits > 0 &&
         (is_digit(function[digits - 1]) || (function[digits - 1] >= 'a' && function[digits - 1] <= 'f'))) {
    --digits;
  }
  if (digits < 3 || digits == function.size() || function.substr(digits - 3, 3) != "+0x") return function;
  return function.substr(0, digits - 3);
}

}  // namespace tephra::formats
