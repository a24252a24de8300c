#include "views/diff_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.h"
#include "base/units.h"
#include "views/printable.h"

namespace tephra::views {
namespace {

using analysis::Diff;
using analysis::DiffBy;
using analysis::DiffFunctionName;
using analysis::DiffSums;
using analysis::DiffValue;

std::string_view sign_of(double value) { return value > 0 ? "+" : value < 0 ? "-" : ""; }

// "0.004" is better than "0.00", and "1e-11" is nothing worth its digits.
std::string probability(double q) { return q < 0.001 ? "<0.001" : fmt::format("{:.3f}", q); }

// Of all that is before.
std::string share_text(double share, bool sign) {
  if (std::fabs(share) < 0.00005) return "0.00";
  return fmt::format("{}{:.2f}", sign && share > 0 ? "+" : "", share * 100);
}

class Drawing {
 public:
  Drawing(const Diff& diff, const DiffTextOptions& options) : diff_(diff), options_(options) {}

  std::string text(const DiffSideText& before, const DiffSideText& after) {
    headline();
    side("before", diff_.tree.sides[0], before);
    side("after", diff_.tree.sides[1], after);
    out_ += "values  " + normalisation_text(diff_) + "\n";
    method();
    for (const std::string& warning : diff_.warnings) out_ += "warning: " + warning + "\n";
    for (const auto& [old_name, new_name] : diff_.tree.joined_threads) {
      out_ += fmt::format("threads {} and {} are taken for the same\n", printable(old_name), printable(new_name));
    }
    functions();
    paths();
    proposals();
    noise();
    return std::move(out_);
  }

 private:
  std::string name(uint32_t function) const {
    if (function == analysis::DiffFunctions::kNone) return "all";
    const std::string& whole = diff_.tree.functions[function].name;
    return printable(options_.shorten ? base::shorten_cpp_name(whole) : whole);
  }

  std::string interval(const DiffValue& value) const {
    return fmt::format("{} to {}", share_text(diff_.of_base(value.low), true),
                       share_text(diff_.of_base(value.high), true));
  }

  std::string painted(std::string text, const DiffValue& value) const {
    if (!options_.color || !value.finding) return text;
    return fmt::format("\x1b[{}m{}\x1b[0m", value.change() > 0 ? 31 : 32, text);
  }

  void headline() {
    const size_t functions = diff_.changed_functions.size();
    if (!diff_.tests.spread.tested && diff_.counts_are_values) {
      out_ +=
          "These numbers look like periods, times or bytes, not like numbers of samples: one profile a side cannot "
          "tell\n"
          "a change from noise. Give several, or say that they are samples: --weight samples.\n\n";
      return;
    }
    if (!diff_.tests.spread.tested) {
      out_ += "These numbers are no numbers of samples: one profile a side cannot tell a change from noise.\n\n";
      return;
    }
    if (functions == 0 && diff_.changed_paths.empty()) {
      out_ += "Nothing changed that is more than noise.";
      if (diff_.tests.spread.tests > 0) {
        out_ += fmt::format(" No function grew by more than {:.2f} % of all (95 %, each).",
                            diff_.of_base(diff_.no_more_than) * 100);
      }
      out_ += "\n\n";
      return;
    }
    if (functions == 0) {
      out_ += fmt::format("No function changed; {} did.\n\n", base::counted(diff_.changed_paths.size(), "call path"));
      return;
    }
    const uint32_t largest = diff_.changed_functions[0];
    const DiffValue& value = diff_.larger_change(largest);
    out_ += fmt::format("{} changed. The largest change: {}, {} % of all (95 %: {}).\n\n",
                        base::counted(functions, "function"), name(largest),
                        share_text(diff_.of_base(value.change()), true), interval(value));
  }

  void side(std::string_view title, const DiffSums& sums, const DiffSideText& text) {
    std::string files;
    for (size_t i = 0; i < text.files.size() && i < 3; ++i) files += (i > 0 ? ", " : "") + printable(text.files[i]);
    if (text.files.size() > 3) files += fmt::format(" and {} more", text.files.size() - 3);
    out_ += fmt::format("{:<7} {}: {} {}", title, files, base::with_separators(sums.whole.count),
                        diff_.counts_are_values ? "in all" : text.verdict.counted);
    if (sums.seconds > 0) out_ += fmt::format(" in {:.1f} s", sums.seconds);
    const uint64_t effective = sums.effective_samples;
    if (diff_.tests.spread.tested && static_cast<double>(effective) < 0.95 * static_cast<double>(sums.whole.count)) {
      out_ += fmt::format(", worth {} of equal weight", base::with_separators(effective));
    }
    out_ += "\n        ";
    if (!text.worst.empty()) {
      out_ += fmt::format("{}, {} {}: ", printable(text.worst), text.all_alike ? "like all" : "the worst of",
                          text.files.size());
    }
    out_ += printable(analysis::one_line(text.verdict)) + "\n";
  }

  // How the numbers below were come by.
  void method() {
    if (!diff_.tests.spread.tested) return;
    const DiffSums& before = diff_.tree.sides[0];
    const DiffSums& after = diff_.tree.sides[1];
    if (before.replicates || after.replicates) {
      out_ +=
          fmt::format("method  Welch's test on the rates of {} and {} recordings", count_of(before), count_of(after));
      if (before.replicates != after.replicates) {
        out_ += "; the single one is taken to vary as those of the other side do";
      }
    } else {
      out_ += fmt::format("method  two {}, one recording a side; ",
                          diff_.tree.by == DiffBy::kShare ? "proportions" : "rates");
      out_ += spread_of_parts(before, after);
    }
    if (before.replicates || after.replicates) {
      out_ += fmt::format(" (a typical function differs by {:.1f} % from run to run, beside what sampling adds)\n",
                          diff_.tests.spread.run_variation * 100);
      if (std::max(count_of(before), count_of(after)) == 2) {
        out_ +=
            "        Two recordings tell little of how runs differ: only large changes are found. Give three or "
            "more.\n";
      }
    } else {
      out_ += fmt::format(" (typical: {:.2f} times that of independent samples)\n", diff_.tests.spread.dispersion);
      out_ +=
          diff_.tree.by == DiffBy::kShare
              ? "        What differs from run to run of one program is seen with several recordings a side only.\n"
              : "        Totals of identical runs differ by several per cent, which one recording a side cannot show:\n"
                "        give several.\n";
    }
  }

  static std::string spread_of_parts(const DiffSums& before, const DiffSums& after) {
    const bool parts[] = {before.units.size() > 1, after.units.size() > 1};
    if (parts[0] && parts[1]) {
      return fmt::format("spread from {} and {} parts of {:.1f} s", before.units.size(), after.units.size(),
                         std::max(before.unit_seconds, after.unit_seconds));
    }
    if (parts[0] || parts[1]) {
      const DiffSums& side = parts[0] ? before : after;
      return fmt::format("spread from {} parts of {:.1f} s of the side {}", side.units.size(), side.unit_seconds,
                         parts[0] ? "before" : "after");
    }
    return before.has_times || after.has_times
               ? "too short for parts of a second to estimate the spread from: samples are taken as independent"
               : "no times to estimate the spread from: samples are taken as independent";
  }

  static size_t count_of(const DiffSums& side) { return side.replicates ? side.units.size() : 1; }

  std::string cell(const DiffValue& value) const {
    if (!value.tested) return share_text(diff_.of_base(value.change()), true);
    return fmt::format("{} ({})", share_text(diff_.of_base(value.change()), true), interval(value));
  }

  std::string both(const DiffValue& value) const {
    return fmt::format("{} → {}", diff_amount(diff_, value.before), diff_amount(diff_, value.after));
  }

  static std::string rate_cell(const DiffValue& a, const DiffValue& b) {
    if (!a.tested && !b.tested) return "-";
    return probability(std::min(a.q, b.q));
  }

  // Columns as wide as their widest cell; the last is not padded.
  void table(const std::vector<std::string>& titles, const std::vector<std::vector<std::string>>& rows,
             const std::vector<const DiffValue*>& values) {
    std::vector<size_t> widths;
    for (const std::string& title : titles) widths.push_back(columns(title));
    for (const auto& row : rows) {
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
    }
    const auto line = [&](const std::vector<std::string>& cells, const DiffValue* value) {
      std::string text = " ";
      for (size_t i = 0; i < cells.size(); ++i) {
        const std::string gap(widths[i] - columns(cells[i]), ' ');
        const std::string shown = value != nullptr && i == 0 ? painted(cells[i], *value) : cells[i];
        text += " " + (i + 1 == cells.size() ? shown : shown + gap) + " ";
      }
      text.erase(text.find_last_not_of(' ') + 1);
      out_ += text + "\n";
    };
    line(titles, nullptr);
    for (size_t i = 0; i < rows.size(); ++i) line(rows[i], values[i]);
  }

  std::vector<uint32_t> shown_functions() const {
    std::vector<uint32_t> shown = diff_.changed_functions;
    if (options_.all || !diff_.tests.spread.tested) {
      std::vector<uint32_t> rest;
      for (uint32_t i = 0; i < diff_.tree.functions.size(); ++i) {
        const DiffValue& total = diff_.tests.total[i];
        const bool is_there = options_.all ? total.before > 0 || total.after > 0 : is_seen_to_change(i);
        if (is_there && !diff_.tree.functions[i].base && std::find(shown.begin(), shown.end(), i) == shown.end()) {
          rest.push_back(i);
        }
      }
      std::stable_sort(rest.begin(), rest.end(), [&](uint32_t a, uint32_t b) {
        return std::fabs(diff_.larger_change(a).change()) > std::fabs(diff_.larger_change(b).change());
      });
      shown.insert(shown.end(), rest.begin(), rest.end());
    }
    return shown;
  }

  // In the digits that are shown.
  bool is_seen_to_change(uint32_t function) const {
    const auto seen = [&](const DiffValue& value) { return share_text(diff_.of_base(value.change()), true) != "0.00"; };
    return seen(diff_.tests.self[function]) || seen(diff_.tests.total[function]);
  }

  size_t limited(size_t size) const { return options_.limit == 0 ? size : std::min(size, options_.limit); }

  void functions() {
    const std::vector<uint32_t> shown = shown_functions();
    const bool tested = diff_.tests.spread.tested;
    if (shown.empty() && !tested) out_ += "\nNo function has another number than before.\n";
    if (shown.empty()) return;
    out_ += fmt::format("\nFunctions, changes in % of all that is before{}:\n",
                        tested ? ", and their 95 % intervals" : "; none is tested");
    std::vector<std::vector<std::string>> rows;
    std::vector<const DiffValue*> values;
    for (size_t i = 0; i < limited(shown.size()); ++i) {
      const DiffValue& self = diff_.tests.self[shown[i]];
      const DiffValue& total = diff_.tests.total[shown[i]];
      rows.push_back({cell(total), cell(self), both(total)});
      if (tested) rows.back().push_back(rate_cell(self, total));
      rows.back().push_back(function_cell(shown[i]));
      values.push_back(&diff_.larger_change(shown[i]));
    }
    std::vector<std::string> titles{"total", "self", "total before → after"};
    if (tested) titles.emplace_back("false");
    titles.emplace_back("function");
    table(titles, rows, values);
    if (limited(shown.size()) < shown.size()) {
      out_ += fmt::format("  … and {} more; --limit shows them\n", shown.size() - limited(shown.size()));
    }
  }

  std::string function_cell(uint32_t function) const {
    const DiffFunctionName& row = diff_.tree.functions[function];
    std::string text = name(function);
    if (!row.module.empty() && row.module != "[unknown]") text += "  " + printable(row.module);
    const DiffValue& total = diff_.tests.total[function];
    if (total.before == 0) text += "  (new)";
    if (total.after == 0) text += "  (gone)";
    if (const uint32_t parent = shifted_below(function); parent != 0) {
      text += fmt::format("  (shifted within {})", name(diff_.tree.nodes[parent].function));
    }
    if (!diff_.larger_change(function).finding && diff_.tests.spread.tested) {
      text += total.few ? "  (too few samples)" : total.tested ? "  (within noise)" : "  (all of both)";
    }
    return text;
  }

  // The caller within which all changed paths of a function were shifted; 0 where some were not.
  uint32_t shifted_below(uint32_t function) const {
    uint32_t parent = 0;
    for (uint32_t i = 1; i < diff_.tree.nodes.size(); ++i) {
      if (diff_.tree.nodes[i].function != function || !diff_.tests.paths[i].finding) continue;
      if (diff_.moves.shifted_within[i] == 0) return 0;
      parent = diff_.moves.shifted_within[i];
    }
    return parent;
  }

  std::string path(uint32_t node) const {
    constexpr size_t kFrames = 5;
    std::vector<std::string> names;
    for (uint32_t at = node; at != 0 && names.size() < kFrames; at = diff_.tree.nodes[at].parent) {
      names.push_back(name(diff_.tree.nodes[at].function));
    }
    std::reverse(names.begin(), names.end());
    return fmt::format("{}{}", diff_.tree.nodes[node].depth > kFrames ? "… > " : "", fmt::join(names, " > "));
  }

  void paths() {
    if (diff_.changed_paths.empty()) return;
    out_ += "\nWhere, by call path:\n";
    std::vector<std::vector<std::string>> rows;
    std::vector<const DiffValue*> values;
    for (size_t i = 0; i < limited(diff_.changed_paths.size()); ++i) {
      const uint32_t node = diff_.changed_paths[i];
      const DiffValue& value = diff_.tests.paths[node];
      const uint32_t parent = diff_.moves.shifted_within[node];
      rows.push_back({cell(value), both(value), probability(value.q),
                      path(node) + (parent == 0 ? "" : "  (shifted within its caller)")});
      values.push_back(&value);
    }
    table({"total", "before → after", "false", "call path"}, rows, values);
    if (const size_t shown = limited(diff_.changed_paths.size()); shown < diff_.changed_paths.size()) {
      out_ += fmt::format("  … and {} more; --limit shows them\n", diff_.changed_paths.size() - shown);
    }
  }

  void proposals() {
    if (diff_.moves.renames.empty() && diff_.moves.moves.empty()) return;
    out_ += "\n";
    for (size_t i = 0; i < limited(diff_.moves.renames.size()); ++i) {
      const analysis::DiffRename& rename = diff_.moves.renames[i];
      out_ += fmt::format("renamed? {} → {}, score {:.2f} ({} → {})\n", name(rename.before), name(rename.after),
                          rename.score, diff_amount(diff_, diff_.tests.total[rename.before].before),
                          diff_amount(diff_, diff_.tests.total[rename.after].after));
    }
    for (size_t i = 0; i < limited(diff_.moves.moves.size()); ++i) {
      const analysis::DiffMove& move = diff_.moves.moves[i];
      out_ += fmt::format("moved? {}: from {} to {}, score {:.2f}\n", name(diff_.tree.nodes[move.from].function),
                          path(diff_.tree.nodes[move.from].parent), path(diff_.tree.nodes[move.to].parent), move.score);
    }
  }

  void noise() {
    const analysis::DiffSpread& spread = diff_.tests.spread;
    if (!spread.tested) return;
    out_ += fmt::format("\nWithin noise: {}.", base::counted(diff_.within_noise, "function"));
    if (spread.too_small > 0) {
      out_ += fmt::format(" Not tested, with fewer than {:.0f} samples: {}.", analysis::kFewestSamples,
                          base::with_separators(spread.too_small));
    }
    if (spread.tests > 0) {
      out_ += fmt::format(
          "\nThe smallest change that would have been seen 4 times of 5: {:.2g} % of all for the smallest function,\n"
          "{:.2g} % for those that take most. Of what is found at most {:.0f} % is false (Benjamini–Hochberg over "
          "{}).\n",
          diff_.of_base(diff_.least_detectable) * 100, diff_.of_base(diff_.largest_detectable) * 100,
          analysis::kFalseDiscoveryRate * 100, base::counted(spread.tests, "test"));
    } else {
      out_ += "\n";
    }
  }

  const Diff& diff_;
  const DiffTextOptions& options_;
  std::string out_;
};

// A weight in its unit.
std::string weight_text(double weight, std::string_view unit) {
  if (unit == "ns" || unit == "bytes") {
    // Below one, three digits of a unit that is smaller still would say nothing.
    return base::quantity(static_cast<uint64_t>(std::llround(std::min(std::fabs(weight), 1e18))), unit);
  }
  return std::fabs(weight) >= 1000 ? base::with_separators(static_cast<uint64_t>(std::llround(std::fabs(weight))))
                                   : fmt::format("{:.3g}", std::fabs(weight));
}

}  // namespace

std::string diff_amount(const Diff& diff, double value, bool sign) {
  if (diff.tree.by == DiffBy::kShare) return share_text(value, sign) + " %";
  return std::string(sign || value < 0 ? sign_of(value) : "") + weight_text(value, diff.unit);
}

std::string normalisation_text(const Diff& diff) {
  const bool samples = diff.tree.weight == analysis::DiffWeight::kSamples;
  const std::string what = diff.counts_are_values ? "the numbers of stacks"
                           : samples || diff.unit == "samples"
                               ? "numbers of samples"
                               : fmt::format("{} ({})", printable(diff.event), printable(diff.unit));
  const std::string unit = diff.unit == "ns" ? "CPU time" : what;
  switch (diff.tree.by) {
    case DiffBy::kShare:
      return fmt::format("shares of {}: what grows makes all others shrink (--by time, --by work=N,M: it does not)",
                         what);
    case DiffBy::kTime:
      return fmt::format("{} of a whole recording, as it is; {} before, {} after ({}{:.1f} %)", unit,
                         weight_text(diff.base_total, diff.unit), weight_text(diff.after_total, diff.unit),
                         diff.after_total > diff.base_total ? "+" : "",
                         diff.of_base(diff.after_total - diff.base_total) * 100);
    case DiffBy::kSecond:
      return fmt::format("{} for each second that was recorded; {} before, {} after", unit,
                         weight_text(diff.base_total, diff.unit), weight_text(diff.after_total, diff.unit));
    case DiffBy::kWork:
      return fmt::format("{} for each unit of work, {:.6g} and {:.6g} of them; {} before, {} after", unit,
                         diff.tree.sides[0].divisor, diff.tree.sides[1].divisor,
                         weight_text(diff.base_total, diff.unit), weight_text(diff.after_total, diff.unit));
  }
  return {};
}

std::string diff_text(const Diff& diff, const DiffSideText& before, const DiffSideText& after,
                      const DiffTextOptions& options) {
  return Drawing(diff, options).text(before, after);
}

std::string regressions_text(const Diff& diff, const std::vector<analysis::Regression>& found, double limit) {
  constexpr size_t kMost = 10;
  std::string out;
  for (size_t i = 0; i < found.size() && i < kMost; ++i) {
    const analysis::Regression& one = found[i];
    const DiffValue& value = one.is_self ? diff.tests.self[one.function] : diff.tests.total[one.function];
    out += fmt::format("regression: {} grew by {} % of all (95 %: {} to {}) in {}, more than {:.6g} %\n",
                       printable(diff.tree.functions[one.function].name),
                       share_text(diff.of_base(value.change()), true), share_text(diff.of_base(value.low), true),
                       share_text(diff.of_base(value.high), true), one.is_self ? "self" : "total", limit * 100);
  }
  if (found.size() > kMost) out += fmt::format("regression: and {} more\n", found.size() - kMost);
  return out;
}

}  // namespace tephra::views
