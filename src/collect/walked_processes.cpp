#include "collect/walked_processes.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tephra::collect {
namespace {

bool same(const std::vector<tephra_walk_mapping>& a, const std::vector<tephra_walk_mapping>& b) {
  const auto as_tuple = [](const tephra_walk_mapping& each) {
    return std::tuple(each.start, each.end, each.file_offset, each.table, each.flags);
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const auto& x, const auto& y) { return as_tuple(x) == as_tuple(y); });
}

}  // namespace

void WalkedProcesses::changed(pid_t pid, pid_t tid) {
  if (known_.contains(pid)) learn(pid, tid);
}

void WalkedProcesses::learn(pid_t pid, pid_t tid) {
  auto code = sources_.code(pid, tid);
  if (!code) return ended(pid);
  const auto before = known_.find(pid);
  const bool same_code = before != known_.end() && before->second.code == *code;
  if (same_code && before->second.whole) return;
  Known known{std::move(*code), {}, {}, true, ++sets_};
  list(pid, tid, known);
  // Told again, the program would ask again at once for what is still not there.
  if (same_code && same(before->second.listed, known.listed)) return give_back_tables(known);
  while (!program_.set_process(pid, known.code.start_stack, known.code.start_code, known.listed)) {
    // Those known for longest make room: the kernel asks for them again when they run.
    if (!forget_oldest(pid)) {
      ++no_room_;
      give_back_tables(known);
      return ended(pid);
    }
  }
  Known& now = known_[pid];
  give_back_tables(now);
  now = std::move(known);
}

void WalkedProcesses::list(pid_t pid, pid_t tid, Known& process) {
  for (const CodeMapping& each : process.code.mappings) {
    const Answer answer = sources_.table(pid, tid, each);
    const bool has_rows = answer.table != nullptr && !answer.table->empty();
    const uint32_t table = has_rows ? tables_.take(answer.table) : 0;
    if (table != 0) process.tables.push_back(table);
    uint32_t flags = answer.no_file ? TEPHRA_MAPPING_NO_FILE : 0;
    if (has_rows && table == 0) {
      // Samples there are left to perf, which copies the stack: slower, not wrong.
      process.whole = false;
      flags = TEPHRA_MAPPING_NO_ROOM;
    }
    process.listed.push_back({each.start, each.end, each.offset, table, flags});
  }
}

void WalkedProcesses::give_back_tables(Known& process) {
  for (const uint32_t table : process.tables) tables_.give_back(table);
  process.tables.clear();
}

bool WalkedProcesses::forget_oldest(pid_t but) {
  const auto older = [but](const auto& a, const auto& b) {
    return std::pair(a.first == but, a.second.last_set) < std::pair(b.first == but, b.second.last_set);
  };
  const auto oldest = std::min_element(known_.begin(), known_.end(), older);
  if (oldest == known_.end() || oldest->first == but) return false;
  ended(oldest->first);
  return true;
}

void WalkedProcesses::ended(pid_t pid) {
  const auto known = known_.find(pid);
  if (known == known_.end()) return;
  // First the process, so that no walk meets a table that is gone.
  program_.forget_process(pid);
  give_back_tables(known->second);
  known_.erase(known);
}

void WalkedProcesses::forget_vanished() {
  std::vector<pid_t> gone;
  for (const auto& [pid, known] : known_) {
    if (!sources_.exists(pid)) gone.push_back(pid);
  }
  for (const pid_t pid : gone) ended(pid);
}

void WalkedProcesses::forget_all() {
  while (!known_.empty()) ended(known_.begin()->first);
}

WalkedProcesses::Totals WalkedProcesses::totals() const { return {known_.size(), no_room_, tables_.totals()}; }

}  // namespace tephra::collect
