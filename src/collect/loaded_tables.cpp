#include "collect/loaded_tables.h"

namespace tephra::collect {

uint32_t LoadedTables::take(const std::shared_ptr<const unwind::FrameTable>& table) {
  if (table == nullptr || table->empty()) return 0;
  const Key key{table->blocks.data(), table->rules.data()};
  auto found = tables_.find(key);
  if (found == tables_.end()) {
    const uint64_t bytes = table->blocks.size_bytes() + table->rules.size_bytes();
    const uint32_t number = load(*table, bytes);
    if (number == 0) {
      ++totals_.refused;
      return 0;
    }
    found = tables_.emplace(key, Loaded{table, number, bytes}).first;
    by_number_.emplace(number, key);
    totals_.bytes += bytes;
    ++totals_.tables;
  }
  ++found->second.users;
  return found->second.number;
}

// The kernel has limits of its own, such as the number of tables, and says only that one was met.
uint32_t LoadedTables::load(const unwind::FrameTable& table, uint64_t bytes) {
  if (!make_room(bytes)) return 0;
  do {
    if (const auto number = program_.add_table(table.blocks, table.rules)) return *number;
  } while (drop_longest_unused());
  return 0;
}

void LoadedTables::take_again(uint32_t number) {
  const auto named = by_number_.find(number);
  if (named != by_number_.end()) ++tables_.at(named->second).users;
}

void LoadedTables::give_back(uint32_t number) {
  const auto named = by_number_.find(number);
  if (named == by_number_.end()) return;
  Loaded& loaded = tables_.at(named->second);
  --loaded.users;
  loaded.last_used = ++uses_;
}

LoadedTables::Tables::iterator LoadedTables::longest_unused() {
  auto oldest = tables_.end();
  for (auto each = tables_.begin(); each != tables_.end(); ++each) {
    if (each->second.users > 0) continue;
    if (oldest == tables_.end() || each->second.last_used < oldest->second.last_used) oldest = each;
  }
  return oldest;
}

bool LoadedTables::drop_longest_unused() {
  const auto oldest = longest_unused();
  if (oldest == tables_.end()) return false;
  program_.remove_table(oldest->second.number);
  totals_.bytes -= oldest->second.bytes;
  --totals_.tables;
  ++totals_.dropped;
  by_number_.erase(oldest->second.number);
  tables_.erase(oldest);
  return true;
}

bool LoadedTables::make_room(uint64_t bytes) {
  if (bytes > most_bytes_) return false;
  while (totals_.bytes + bytes > most_bytes_) {
    if (!drop_longest_unused()) return false;
  }
  return true;
}

}  // namespace tephra::collect
