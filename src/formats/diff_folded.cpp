#include "formats/diff_folded.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string_view>

#include "base/number.h"
#include "formats/folded.h"

namespace tephra::formats {
namespace {

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

std::string without_hex(std::string_view text) {
  std::string out;
  while (true) {
    const size_t at = text.find("0x");
    if (at == std::string_view::npos) return out += text;
    size_t end = at + 2;
    while (end < text.size() && is_hex(text[end])) ++end;
    out += text.substr(0, end == at + 2 ? end : at);
    if (end > at + 2) out += "0x...";
    text.remove_prefix(end);
  }
}

struct Pair {
  uint64_t before = 0;
  uint64_t after = 0;
};

class Lines {
 public:
  explicit Lines(const DiffFoldedOptions& options) : options_(options) {}

  void add(const model::Profile& profile, uint64_t Pair::*number, uint64_t& total) {
    const std::string text = write_folded(profile, {.by_value = options_.by_value});
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      const size_t space = line.rfind(' ');
      const auto count = base::whole_number<uint64_t>(line.substr(space + 1));
      if (space == std::string_view::npos || !count) continue;
      const std::string_view stack = line.substr(0, space);
      pairs_[options_.strip_hex ? without_hex(stack) : std::string(stack)].*number += *count;
      total += *count;
    }
  }

  std::string text(uint64_t before, uint64_t after) const {
    std::string out;
    for (const auto& [stack, pair] : pairs_) {
      uint64_t first = pair.before;
      if (options_.normalise && before != after && before != 0) {
        first = static_cast<uint64_t>(
            std::trunc(static_cast<double>(first) * static_cast<double>(after) / static_cast<double>(before)));
      }
      fmt::format_to(std::back_inserter(out), "{} {} {}\n", stack, first, pair.after);
    }
    return out;
  }

 private:
  const DiffFoldedOptions& options_;
  std::map<std::string, Pair> pairs_;
};

}  // namespace

std::string write_diff_folded(std::span<const model::Profile* const> before,
                              std::span<const model::Profile* const> after, const DiffFoldedOptions& options) {
  Lines lines(options);
  uint64_t totals[2] = {0, 0};
  for (const model::Profile* profile : before) lines.add(*profile, &Pair::before, totals[0]);
  for (const model::Profile* profile : after) lines.add(*profile, &Pair::after, totals[1]);
  return lines.text(totals[0], totals[1]);
}

}  // namespace tephra::formats
