#include "views/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/names.h"
#include "base/units.h"
#include "views/printable.h"
#include "views/text_table.h"

namespace tephra::views {
namespace {

using analysis::ChainNode;
using analysis::Report;
using analysis::ReportEntry;
using analysis::SortKey;

void add_column(TextTable& table, SortKey key) {
  switch (key) {
    case SortKey::kComm:
      return table.column("Command");
    case SortKey::kPid:
      return table.column("Pid", true);
    case SortKey::kTid:
      return table.column("Tid", true);
    case SortKey::kCpu:
      return table.column("CPU", true);
    case SortKey::kEvent:
      return table.column("Event");
    case SortKey::kDso:
      return table.column("Shared Object");
    case SortKey::kSymbol:
      return table.column("Symbol");
    case SortKey::kSrcline:
      return table.column("Source:Line");
  }
}

std::string cell(const ReportEntry& entry, SortKey key, bool shorten) {
  switch (key) {
    case SortKey::kComm:
      return printable(entry.comm);
    case SortKey::kPid:
      return fmt::format("{}", entry.pid);
    case SortKey::kTid:
      return fmt::format("{}", entry.tid);
    case SortKey::kCpu:
      return entry.cpu < 0 ? "?" : fmt::format("{}", entry.cpu);
    case SortKey::kEvent:
      return printable(entry.event);
    case SortKey::kDso:
      return module_for_eye(entry.dso);
    case SortKey::kSymbol:
      return fmt::format("[{}] {}", entry.kernel ? 'k' : '.', name_for_eye(entry.symbol, shorten));
    case SortKey::kSrcline:
      return fmt::format("{}:{}", entry.file.empty() ? "??" : printable(base::path_base_name(entry.file)), entry.line);
  }
  return {};
}

// Draws a tree of chains the way perf does: a branch has its share, what follows without branching stands below it.
class ChainDrawing {
 public:
  ChainDrawing(std::string& out, const Report& report, bool shorten) : out_(out), report_(report), shorten_(shorten) {}

  void draw(const ReportEntry& entry) {
    if (entry.chains.empty()) return;
    std::string margin(12, ' ');
    if (entry.chains.size() == 1 && entry.chains[0].weight == entry.total) {
      line(margin, "|");
      out_ += margin + "---";
      margin.append(3, ' ');
      follow(entry.chains[0], margin);
    } else {
      branches(entry.chains, margin);
    }
    out_ += '\n';
  }

 private:
  void line(std::string_view margin, std::string_view text) {
    out_ += margin;
    out_ += text;
    out_ += '\n';
  }

  // The node and those that follow as its only continuation, then the branches of the last.
  void follow(const ChainNode& first, const std::string& margin) {
    line("", name_for_eye(first.name, shorten_));
    const ChainNode* node = &first;
    while (node->children.size() == 1 && node->children[0].weight == node->weight) {
      node = &node->children[0];
      line(margin, name_for_eye(node->name, shorten_));
    }
    branches(node->children, margin);
  }

  void branches(const std::vector<ChainNode>& nodes, const std::string& margin) {
    const uint64_t whole = report_.measure(report_.whole);
    for (const ChainNode& node : nodes) {
      const bool last = &node == &nodes.back();
      line(margin, "|");
      out_ += margin;
      out_ += last ? " --" : "|--";
      out_ += base::percent(report_.measure(node.weight), whole) + "--";
      follow(node, margin + (last ? "           " : "|          "));
    }
  }

  std::string& out_;
  const Report& report_;
  const bool shorten_;
};

TextTable report_table(const Report& report, const ReportTextOptions& options) {
  TextTable table;
  if (report.children) table.column("Children", true);
  table.column(report.children ? "    Self" : "Overhead", true);
  if (options.sample_counts) table.column("     Samples", true);
  for (const SortKey key : report.sort) add_column(table, key);
  return table;
}

std::vector<std::string> report_cells(const Report& report, const ReportEntry& entry,
                                      const ReportTextOptions& options) {
  const uint64_t whole = report.measure(report.whole);
  std::vector<std::string> cells;
  if (report.children) cells.push_back(base::percent(report.measure(entry.total), whole));
  cells.push_back(base::percent(report.measure(entry.self), whole));
  if (options.sample_counts) cells.push_back(fmt::format("{}", entry.self.count));
  for (const SortKey key : report.sort) cells.push_back(cell(entry, key, options.shorten));
  return cells;
}

}  // namespace

std::string report_text(const Report& report, const analysis::Verdict& verdict, const ReportTextOptions& options) {
  std::string out = fmt::format("# Total Lost Samples: {}\n#\n", verdict.lost);
  const std::string event = report.event.empty() ? "an unnamed event" : "event '" + printable(report.event) + "'";
  out += fmt::format("# Samples: {} of {}\n", report.whole.count, event);
  out += fmt::format("# Event count (approx.): {}\n", report.whole.value);
  if (!options.selection.empty()) out += fmt::format("# Of all: {}\n", printable(options.selection));
  out += "# " + printable(analysis::one_line(verdict)) + "\n#\n";

  TextTable table = report_table(report, options);
  const auto titles = table.titles();
  std::vector<std::vector<std::string>> rows;
  for (const ReportEntry& entry : report.entries) table.fit(rows.emplace_back(report_cells(report, entry, options)));
  table.append(out, "# ", titles);
  table.append(out, "# ", table.dots());
  out += "#\n";
  ChainDrawing drawing(out, report, options.shorten);
  for (size_t i = 0; i < rows.size(); ++i) {
    table.append(out, "  ", rows[i]);
    drawing.draw(report.entries[i]);
  }
  if (report.rows_below_limit > 0) {
    out += fmt::format("#\n# {} rows below the limit are not shown.\n", base::with_separators(report.rows_below_limit));
  }
  return out;
}

std::string top_text(std::span<const analysis::TopEntry> entries, const model::Totals& whole, bool shorten) {
  TextTable table;
  table.column("self", true);
  table.column("total", true);
  table.column("samples", true);
  table.column("function");
  table.column("module");
  const auto titles = table.titles();
  const bool by_count = whole.value == 0;
  std::vector<std::vector<std::string>> rows;
  for (const analysis::TopEntry& entry : entries) {
    table.fit(rows.emplace_back(std::vector<std::string>{
        by_count ? base::percent(entry.self_count, whole.count) : base::percent(entry.self_value, whole.value),
        by_count ? base::percent(entry.total_count, whole.count) : base::percent(entry.total_value, whole.value),
        base::with_separators(entry.self_count), name_for_eye(entry.function, shorten), module_for_eye(entry.module)}));
  }
  std::string out;
  table.append(out, "  ", titles);
  for (const auto& row : rows) table.append(out, "  ", row);
  return out;
}

namespace {

std::string waited_for(const analysis::TopWait& wait, bool shorten) {
  if (wait.kind == analysis::WaitKind::kNone) return "(running)";
  const std::string kind(wait_kind_name(wait.kind));
  return wait.lock.empty() ? kind : kind + " " + name_for_eye(wait.lock, shorten);
}

}  // namespace

std::string top_waits_text(std::span<const analysis::TopWait> waits, const model::Totals& whole, bool shorten) {
  TextTable table;
  table.column("share", true);
  table.column("time", true);
  table.column("times", true);
  table.column("waiting for");
  table.column("in");
  table.column("module");
  const auto titles = table.titles();
  std::vector<std::vector<std::string>> rows;
  for (const analysis::TopWait& wait : waits) {
    const bool runs = wait.kind == analysis::WaitKind::kNone;
    table.fit(rows.emplace_back(std::vector<std::string>{
        base::percent(wait.nanoseconds, whole.value), base::duration_text(wait.nanoseconds),
        runs ? "" : base::with_separators(wait.count), waited_for(wait, shorten),
        wait.function.empty() ? "[no stack]" : name_for_eye(wait.function, shorten), module_for_eye(wait.module)}));
  }
  std::string out;
  table.append(out, "  ", titles);
  for (const auto& row : rows) table.append(out, "  ", row);
  return out;
}

}  // namespace tephra::views
