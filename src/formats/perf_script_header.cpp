#include "formats/perf_script_header.h"

#include <limits>

#include "base/number.h"
#include "formats/plain_text.h"
#include "formats/script_lines.h"

namespace tephra::formats {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Takes the next word off `text`, which keeps the white space behind it.
std::string_view take_word(std::string_view& text) {
  size_t begin = 0;
  while (begin < text.size() && is_space(text[begin])) ++begin;
  size_t end = begin;
  while (end < text.size() && !is_space(text[end])) ++end;
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

struct Ids {
  int32_t pid = -1;
  int32_t tid = -1;
};

// "25607", "24636/25607", "-1".
std::optional<Ids> ids_of(std::string_view word) {
  if (word.empty() || !(is_digit(word[0]) || word[0] == '-')) return std::nullopt;
  const size_t slash = word.find('/');
  const auto last = base::whole_number<int32_t>(word.substr(slash == std::string_view::npos ? 0 : slash + 1));
  if (!last) return std::nullopt;
  if (slash == std::string_view::npos) return Ids{-1, *last};
  const auto first = base::whole_number<int32_t>(word.substr(0, slash));
  if (!first) return std::nullopt;
  return Ids{*first, *last};
}

// "[003]"
std::optional<int32_t> cpu_of(std::string_view word) {
  if (word.size() < 3 || word.front() != '[' || word.back() != ']' || !is_digit(word[1])) return std::nullopt;
  return base::whole_number<int32_t>(word.substr(1, word.size() - 2));
}

// "4794564.109216:"
std::optional<uint64_t> time_of(std::string_view word) {
  constexpr uint64_t kNanoseconds = 1'000'000'000;
  constexpr size_t kMostDecimals = 9;
  if (!word.ends_with(':') || !is_digit(word[0])) return std::nullopt;
  word.remove_suffix(1);
  const size_t point = word.find('.');
  if (point == std::string_view::npos) return std::nullopt;
  const auto seconds = base::whole_number<uint64_t>(word.substr(0, point));
  std::string_view decimals = word.substr(point + 1);
  if (decimals.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  decimals = decimals.substr(0, kMostDecimals);
  auto rest = base::whole_number<uint64_t>(decimals);
  if (!seconds || !rest || *seconds >= std::numeric_limits<uint64_t>::max() / kNanoseconds) return std::nullopt;
  for (size_t i = decimals.size(); i < kMostDecimals; ++i) *rest *= 10;
  return *seconds * kNanoseconds + *rest;
}

// What stands behind the time: a period, an event, and what it tells.
void parse_event(std::string_view text, ScriptHeader& header) {
  std::string_view rest = text;
  std::string_view word = take_word(rest);
  if (const auto period = base::whole_number<uint64_t>(word)) {
    header.period = period;
    text = rest;
    word = take_word(rest);
  }
  if (word.size() > 1 && word.ends_with(':')) {
    header.event = word.substr(0, word.size() - 1);
    text = rest;
  }
  header.rest = trimmed(text);
}

// A CPU or a time behind `text`'s begin; takes them off.
bool take_when(std::string_view& text, ScriptHeader& header) {
  bool found = false;
  std::string_view rest = text;
  if (const auto cpu = cpu_of(take_word(rest))) {
    header.cpu = cpu;
    text = rest;
    found = true;
  }
  rest = text;
  if (const auto time = time_of(take_word(rest))) {
    header.time = time;
    text = rest;
    found = true;
  }
  return found;
}

// By the numbers that have a CPU or a time behind them; names may hold any words.
std::optional<ScriptHeader> by_time(std::string_view line) {
  line = trimmed(line);
  std::string_view rest = line;
  while (true) {
    // Ends with the word before.
    const std::string_view before = line.substr(0, line.size() - rest.size());
    const std::string_view word = take_word(rest);
    if (word.empty()) return std::nullopt;
    ScriptHeader header{.comm = before};
    if (const auto ids = ids_of(word); ids && take_when(rest, header)) {
      header.pid = ids->pid;
      header.tid = ids->tid;
      parse_event(rest, header);
      return header;
    }
    // Without numbers: "comm 123.456: cycles:".
    if (const auto time = time_of(word); time && !header.comm.empty()) {
      header.time = time;
      parse_event(rest, header);
      return header;
    }
  }
}

}  // namespace

std::optional<ScriptHeader> parse_script_header(std::string_view line) {
  // Frames are the most lines by far; most begin with a tab, and no event line does.
  if (line.empty() || line[0] == '#' || line[0] == '\t') return std::nullopt;
  if (auto header = by_time(line)) return header;
  const auto parsed = parse_event_line(line);
  if (!parsed) return std::nullopt;
  ScriptHeader header{.comm = trimmed(parsed->comm)};
  if (const auto tid = base::whole_number<int32_t>(parsed->tid)) header.tid = *tid;
  if (const auto pid = base::whole_number<int32_t>(parsed->pid)) header.pid = *pid;
  const auto after = static_cast<size_t>(parsed->tid.data() + parsed->tid.size() - line.data());
  parse_event(line.substr(after), header);
  // Without an event the numbers are all there is: "java 24636/25607 250".
  if (header.event.empty() && !header.rest.empty()) return std::nullopt;
  return header;
}

std::optional<ScriptFact> parse_script_fact(std::string_view line) {
  const size_t colon = line.find(" : ");
  if (!line.starts_with('#') || colon == std::string_view::npos || colon < 2) return std::nullopt;
  return ScriptFact{line.substr(2, colon - 2), line.substr(colon + 3)};
}

std::vector<std::string> script_verdicts(std::string_view text) {
  std::vector<std::string> verdicts;
  while (text.starts_with('#')) {
    const std::string_view line = take_line(text);
    if (line.starts_with("# verdict: ")) verdicts.emplace_back(line.substr(2));
  }
  return verdicts;
}

}  // namespace tephra::formats
