#include "views/calls_text.h"

#include <vector>

#include "base/units.h"
#include "views/text_table.h"

namespace tephra::views {

std::string calls_text(const analysis::CallSummary& summary, bool shorten) {
  TextTable table;
  table.column("share", true);
  table.column("calls", true);
  table.column("time", true);
  table.column("average", true);
  table.column("call");
  table.column("in");
  table.column("module");
  const auto titles = table.titles();
  std::vector<std::vector<std::string>> rows;
  for (const auto& row : summary.rows) {
    table.fit(rows.emplace_back(std::vector<std::string>{
        base::percent(row.count, summary.count), base::with_separators(row.count), base::duration_text(row.nanoseconds),
        row.count == 0 ? "" : base::duration_text(row.nanoseconds / row.count),
        row.call.empty() ? "-" : printable(row.call),
        row.function.empty() ? "[no stack]" : name_for_eye(row.function, shorten), module_for_eye(row.module)}));
  }
  std::string out;
  table.append(out, "  ", titles);
  for (const auto& row : rows) table.append(out, "  ", row);
  return out;
}

}  // namespace tephra::views
