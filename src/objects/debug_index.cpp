#include "objects/debug_index.h"

#include <algorithm>
#include <type_traits>
#include <vector>

namespace tephra::objects {
namespace {

constexpr uint64_t kAlignment = 8;

uint64_t aligned(uint64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

// Takes arrays from the front of some bytes; once one does not fit, it and all that follow are empty.
class ArrayReader {
 public:
  explicit ArrayReader(base::Bytes rest) : rest_(rest) {}

  template <class T>
  std::span<const T> take(uint64_t count) {
    if (count > rest_.size() / sizeof(T) || reinterpret_cast<uintptr_t>(rest_.data()) % alignof(T) != 0) {
      rest_ = {};
      ok_ = false;
      return {};
    }
    const auto* begin = reinterpret_cast<const T*>(rest_.data());
    rest_ = rest_.subspan(count * sizeof(T));
    return {begin, count};
  }
  bool ok() const { return ok_; }

 private:
  base::Bytes rest_;
  bool ok_ = true;
};

template <class T>
void append(std::string& bytes, std::span<const T> rows) {
  static_assert(std::has_unique_object_representations_v<T>);  // no padding, so that no memory is told
  bytes.append(reinterpret_cast<const char*>(rows.data()), rows.size_bytes());
}

}  // namespace

DebugIndex::DebugIndex(base::Bytes stored) : stored_(stored) {
  if (stored.size() < sizeof(Header) || reinterpret_cast<uintptr_t>(stored.data()) % kAlignment != 0) return;
  const auto header = base::load<Header>(stored.data());
  ArrayReader reader(stored.subspan(sizeof(Header)));
  const auto ranges = reader.take<Range>(header.range_count);
  const auto units = reader.take<Unit>(header.unit_count);
  if (!reader.ok()) return;
  ranges_ = ranges;
  units_ = units;
}

std::optional<UnitTables> DebugIndex::unit(uint64_t root) const {
  const auto at = std::lower_bound(units_.begin(), units_.end(), root,
                                   [](const Unit& row, uint64_t wanted) { return row.root < wanted; });
  if (at == units_.end() || at->root != root) return std::nullopt;
  return tables_of(*at);
}

std::optional<UnitTables> DebugIndex::tables_of(const Unit& row) const {
  if (row.offset > stored_.size()) return std::nullopt;
  ArrayReader reader(stored_.subspan(row.offset));
  UnitTables tables;
  tables.segment_begins = reader.take<uint64_t>(row.segment_count);
  tables.line_begins = reader.take<uint64_t>(row.line_count);
  tables.line_places = reader.take<UnitTables::Place>(row.line_count);
  tables.nodes = reader.take<UnitTables::Node>(row.node_count);
  tables.segment_nodes = reader.take<uint32_t>(row.segment_count);
  const auto strings = reader.take<char>(row.string_bytes);
  tables.strings = {strings.data(), strings.size()};
  if (!reader.ok()) return std::nullopt;
  return tables;
}

DebugIndex::Unit DebugIndex::measure(const UnitTables& tables) {
  Unit row;
  row.segment_count = tables.segment_begins.size();
  row.line_count = tables.line_begins.size();
  row.node_count = tables.nodes.size();
  row.string_bytes = tables.strings.size();
  return row;
}

std::string DebugIndex::store(std::span<const Range> ranges, const std::map<uint64_t, UnitTables>& units) {
  std::vector<Unit> rows;
  uint64_t at = sizeof(Header) + ranges.size_bytes() + units.size() * sizeof(Unit);
  for (const auto& [root, tables] : units) {
    Unit& row = rows.emplace_back(measure(tables));
    row.root = root;
    row.offset = at;
    at += row.segment_count * (sizeof(uint64_t) + sizeof(uint32_t)) +
          row.line_count * (sizeof(uint64_t) + sizeof(UnitTables::Place)) + row.node_count * sizeof(UnitTables::Node);
    at = aligned(at + row.string_bytes);
  }
  const Header header{ranges.size(), rows.size()};
  std::string bytes;
  bytes.reserve(at);
  append(bytes, std::span(&header, 1));
  append(bytes, ranges);
  append(bytes, std::span<const Unit>(rows));
  for (const auto& [root, tables] : units) {
    append(bytes, tables.segment_begins);
    append(bytes, tables.line_begins);
    append(bytes, tables.line_places);
    append(bytes, tables.nodes);
    append(bytes, tables.segment_nodes);
    bytes.append(tables.strings);
    bytes.resize(aligned(bytes.size()));
  }
  return bytes;
}

}  // namespace tephra::objects
