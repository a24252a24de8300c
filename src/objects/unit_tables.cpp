#include "objects/unit_tables.h"

#include <algorithm>
#include <optional>

namespace tephra::objects {
namespace {

// The last row that does not begin after the address.
std::optional<size_t> row_at(std::span<const uint64_t> begins, uint64_t address) {
  const auto after = std::upper_bound(begins.begin(), begins.end(), address);
  if (after == begins.begin()) return std::nullopt;
  return static_cast<size_t>(after - begins.begin()) - 1;
}

}  // namespace

std::string_view UnitTables::text(uint32_t at) const {
  if (at >= strings.size()) return {};
  const std::string_view rest = strings.substr(at);
  return rest.substr(0, rest.find('\0'));
}

void UnitTables::find(uint64_t address, std::vector<DebugInfo::Level>& levels) const {
  const auto segment = row_at(segment_begins, address);
  const auto line = row_at(line_begins, address);
  uint32_t node = segment && *segment < segment_nodes.size() ? segment_nodes[*segment] : kNone;
  const bool has_line = line && *line < line_places.size() && line_places[*line].file != kNone;
  if (node >= nodes.size() && !has_line) return;
  DebugInfo::Level level;
  if (has_line) {
    level.file = text(line_places[*line].file);
    level.line = line_places[*line].line;
  }
  const auto first = static_cast<ptrdiff_t>(levels.size());
  if (node >= nodes.size()) levels.push_back(level);
  // From the innermost outwards: each function is at the line where the next inner one was called.
  while (node < nodes.size()) {
    const Node& row = nodes[node];
    level.function = text(row.name);
    levels.push_back(level);
    level.file = text(row.call_file);
    level.line = row.call_line;
    // Parents come first, so this ends whatever the file says.
    node = row.parent < node ? row.parent : kNone;
  }
  std::reverse(levels.begin() + first, levels.end());
}

}  // namespace tephra::objects
