#include "views/io_text.h"

#include <fmt/format.h>

#include "base/units.h"
#include "views/text_table.h"

namespace tephra::views {
namespace {

using analysis::IoSummary;

// How the two halves call what they tell of.
struct Words {
  std::string_view title;
  std::string_view one;    // "request"
  std::string_view place;  // the title of the table by function
};
constexpr Words kRequests{"requests to devices", "request", "who asked for them"};
constexpr Words kCalls{"calls on files", "call", "who made them"};

std::string average(const IoSummary::Sums& sums) {
  return sums.count == 0 ? "" : base::duration_text(sums.nanoseconds / sums.count);
}

// What is to be said of some of them: "3 failed, 1 not done at the end".
std::string remarks(const IoSummary::Row& row) {
  std::string text;
  if (row.failed > 0) text += fmt::format("{} failed", base::with_separators(row.failed));
  if (row.open > 0) {
    text += fmt::format("{}{} not done at the end", text.empty() ? "" : ", ", base::with_separators(row.open));
  }
  return text;
}

std::string lines_of(TextTable& table, const std::vector<std::vector<std::string>>& rows) {
  const auto titles = table.titles();
  for (const auto& row : rows) table.fit(row);
  std::string out;
  const auto append = [&](const std::vector<std::string>& cells) {
    std::string line;
    table.append(line, "  ", cells);
    line.erase(line.find_last_not_of(" \n") + 1);
    out += line + '\n';
  };
  append(titles);
  for (const auto& row : rows) append(row);
  return out;
}

void add_sum_columns(TextTable& table, const Words& words, bool timed) {
  table.column(fmt::format("{}s", words.one), true);
  table.column("bytes", true);
  if (timed) table.column("time", true);
  if (timed) table.column("average", true);
}

void add_sums(std::vector<std::string>& cells, const IoSummary::Sums& sums, bool timed) {
  cells.push_back(base::with_separators(sums.count));
  cells.push_back(base::bytes_text(sums.bytes));
  if (timed) cells.push_back(base::duration_text(sums.nanoseconds));
  if (timed) cells.push_back(average(sums));
}

std::string device_table(const IoSummary::Part& part, const Words& words) {
  TextTable table;
  table.column("device");
  table.column("operation");
  add_sum_columns(table, words, part.timed);
  if (part.timed) table.column("longest", true);
  table.column("");
  std::vector<std::vector<std::string>> rows;
  for (const IoSummary::Row& row : part.rows) {
    auto& cells = rows.emplace_back(std::vector<std::string>{row.device.empty() ? "-" : printable(row.device),
                                                             row.operation.empty() ? "-" : printable(row.operation)});
    add_sums(cells, row.sums, part.timed);
    if (part.timed) cells.push_back(row.longest == 0 ? "" : base::duration_text(row.longest));
    cells.push_back(remarks(row));
  }
  return lines_of(table, rows);
}

std::string place_table(const IoSummary::Part& part, const Words& words, bool shorten) {
  TextTable table;
  add_sum_columns(table, words, part.timed);
  table.column("operation");
  table.column("function");
  table.column("module");
  std::vector<std::vector<std::string>> rows;
  for (const IoSummary::Place& place : part.places) {
    std::vector<std::string>& cells = rows.emplace_back();
    add_sums(cells, place.sums, part.timed);
    cells.push_back(place.operation.empty() ? "-" : printable(place.operation));
    cells.push_back(place.function.empty() ? "[no stack]" : name_for_eye(place.function, shorten));
    cells.push_back(module_for_eye(place.module));
  }
  return lines_of(table, rows);
}

std::string part_text(const IoSummary::Part& part, const Words& words, bool shorten) {
  if (part.rows.empty()) return fmt::format("{}: none\n\n", words.title);
  const std::string time =
      part.timed ? fmt::format(", {} together", base::duration_text(part.all.nanoseconds)) : std::string();
  return fmt::format("{}: {}, {}{}\n{}{}\n{}\n", words.title, base::counted(part.all.count, words.one),
                     base::bytes_text(part.all.bytes), time, device_table(part, words), words.place,
                     place_table(part, words, shorten));
}

constexpr std::string_view kLimits =
    "A request's time is from when it went to its device to when it was done; several may be under way at once. "
    "Writes\n"
    "mostly go to memory and are calls on files; threads of the kernel write them to a device later: those requests "
    "are\n"
    "seen with -a, under kworker, or where a program waits for them (fsync). What is read from memory makes no "
    "request.\n"
    "Mapped memory and io_uring make requests, and no calls on files.\n";

}  // namespace

std::string io_text(const IoSummary& summary, bool shorten) {
  if (summary.requests.rows.empty() && summary.calls.rows.empty()) return "";
  std::string text = part_text(summary.requests, kRequests, shorten);
  // By the tracepoint alone nothing is known of calls.
  const bool known = !summary.calls.rows.empty() || summary.requests.timed;
  if (known) text += part_text(summary.calls, kCalls, shorten);
  return text + std::string(kLimits);
}

}  // namespace tephra::views
