#include "stream/recorder_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tephra::stream {
namespace {

constexpr size_t kMaxOthers = 1000;

template <class T>
bool parse(std::string_view text, std::optional<T>& out) {
  T number{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end) return false;
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(number)) return false;
  }
  out = number;
  return true;
}

bool parse(std::string_view text, std::optional<std::string>& out) {
  out = text;
  return true;
}

// Shortest text that gives the same number again.
template <class T>
std::string print(const T& value) {
  return fmt::format("{}", value);
}

// The facts with a member of their own, in the order of printing; stops where `visit` returns true.
template <class Facts, class Visit>
bool visit_known(Facts& facts, const Visit& visit) {
  return visit("recorder_pid", facts.recorder_pid) || visit("recorder_cpu_seconds", facts.recorder_cpu_seconds) ||
         visit("wakeups", facts.wakeups) || visit("steal_seconds", facts.steal_seconds) ||
         visit("cpu_seconds_total", facts.cpu_seconds_total) || visit("lost_ring_full", facts.lost_ring_full) ||
         visit("late_writes", facts.late_writes) || visit("counters_run_on", facts.counters_run_on) ||
         visit("engine", facts.engine) || visit("stacks_walked", facts.stacks_walked) ||
         visit("stacks_copied", facts.stacks_copied) || visit("stacks_lost", facts.stacks_lost) ||
         visit("table_bytes", facts.table_bytes) || visit("tables_refused", facts.tables_refused) ||
         visit("copy_sizes", facts.copy_sizes);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\\') {
      out += "\\\\";
    } else {
      out += c;
    }
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      out += text[at];
    } else {
      ++at;
      out += text[at] == 'n' ? '\n' : text[at];
    }
  }
  return out;
}

void read_line(std::string_view line, RecorderFacts& facts) {
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos || equals == 0) return;
  const std::string_view key = line.substr(0, equals);
  const std::string value = unescaped(line.substr(equals + 1));
  const bool known =
      visit_known(facts, [&](std::string_view name, auto& member) { return name == key && parse(value, member); });
  if (!known && facts.others.size() < kMaxOthers) facts.others.insert_or_assign(std::string(key), value);
}

}  // namespace

std::string print_facts(const RecorderFacts& facts) {
  std::string out;
  visit_known(facts, [&](std::string_view name, const auto& member) {
    if (member) out += fmt::format("{}={}\n", name, escaped(print(*member)));
    return false;
  });
  for (const auto& [key, value] : facts.others) out += fmt::format("{}={}\n", key, escaped(value));
  return out;
}

std::string print_copy_sizes(const std::vector<model::CopySize>& sizes) {
  std::string text;
  for (const model::CopySize& size : sizes) {
    text += fmt::format("{}{}:{}:{}", text.empty() ? "" : ",", size.bytes, size.samples, size.cut);
  }
  return text;
}

std::vector<model::CopySize> parse_copy_sizes(std::string_view text) {
  std::vector<model::CopySize> sizes;
  while (!text.empty() && sizes.size() < kMaxOthers) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const size_t first = entry.find(':');
    const size_t second = first == std::string_view::npos ? first : entry.find(':', first + 1);
    std::optional<uint32_t> bytes;
    std::optional<uint64_t> samples;
    std::optional<uint64_t> cut;
    if (second == std::string_view::npos || !parse(entry.substr(0, first), bytes) ||
        !parse(entry.substr(first + 1, second - first - 1), samples) || !parse(entry.substr(second + 1), cut)) {
      break;
    }
    sizes.push_back({*bytes, *samples, *cut});
  }
  return sizes;
}

RecorderFacts parse_facts(std::string_view text) {
  RecorderFacts facts;
  // Sections are padded with NULs.
  text = text.substr(0, text.find('\0'));
  while (!text.empty()) {
    const size_t end = text.find('\n');
    read_line(text.substr(0, end), facts);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return facts;
}

}  // namespace tephra::stream
