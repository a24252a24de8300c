#include "collect/walked_processes.h"

#include <time.h>

#include <algorithm>
#include <span>
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

// From so many mappings on, the files of those that a process had before are not looked at again: that would take
// longer than all else.
constexpr size_t kMany = 1024;

std::chrono::nanoseconds own_cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Whether looking again would tell the same: generated code may be other code by now, and room may have come.
bool is_settled(const CodeMapping& mapping, const tephra_walk_mapping& listed) {
  constexpr uint32_t kMayChange = TEPHRA_MAPPING_NO_FILE | TEPHRA_MAPPING_NO_ROOM;
  return mapping.kind != CodeMapping::Kind::kGenerated && (listed.flags & kMayChange) == 0;
}

}  // namespace

WalkedProcesses::Cost WalkedProcesses::wanted(pid_t pid, pid_t tid) {
  const Cost begin = own_cpu_time();
  spent_once_ = Cost(0);
  learn(pid, tid);
  program_.answered(pid);
  return own_cpu_time() - begin - spent_once_;
}

WalkedProcesses::Cost WalkedProcesses::changed(pid_t pid, pid_t tid) {
  return known_.contains(pid) ? wanted(pid, tid) : Cost(0);
}

void WalkedProcesses::learn(pid_t pid, pid_t tid) {
  auto code = sources_.code(pid, tid);
  if (!code) return ended(pid);
  const auto before = known_.find(pid);
  const bool same_code = before != known_.end() && before->second.code == *code;
  if (same_code && before->second.whole) return;
  Known known{std::move(*code), {}, {}, true, ++sets_};
  list(pid, tid, known, before != known_.end() ? &before->second : nullptr);
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

void WalkedProcesses::list(pid_t pid, pid_t tid, Known& process, const Known* before) {
  const bool same_program = before != nullptr && before->code.start_stack == process.code.start_stack &&
                            before->code.start_code == process.code.start_code;
  const std::span<const CodeMapping> old =
      same_program ? std::span(before->code.mappings) : std::span<const CodeMapping>();
  const bool many = process.code.mappings.size() > kMany;
  size_t at = 0;
  for (const CodeMapping& each : process.code.mappings) {
    while (at < old.size() && old[at].start < each.start) ++at;
    const bool known = at < old.size() && old[at] == each;
    if (known && many && is_settled(each, before->listed[at])) {
      list_again(before->listed[at], process);
      continue;
    }
    const Cost begin = known ? Cost(0) : own_cpu_time();
    process.listed.push_back(describe(pid, tid, each, process));
    if (!known) spent_once_ += own_cpu_time() - begin;
  }
}

void WalkedProcesses::list_again(const tephra_walk_mapping& listed, Known& process) {
  if (listed.table != 0) {
    tables_.take_again(listed.table);
    process.tables.push_back(listed.table);
  }
  process.listed.push_back(listed);
}

tephra_walk_mapping WalkedProcesses::describe(pid_t pid, pid_t tid, const CodeMapping& mapping, Known& process) {
  const Answer answer = sources_.table(pid, tid, mapping);
  const bool has_rows = answer.table != nullptr && !answer.table->empty();
  const uint32_t table = has_rows ? tables_.take(answer.table) : 0;
  if (table != 0) process.tables.push_back(table);
  uint32_t flags = answer.no_file ? TEPHRA_MAPPING_NO_FILE : 0;
  if (has_rows && table == 0) {
    // Samples there are left to perf, which copies the stack: slower, not wrong.
    process.whole = false;
    flags = TEPHRA_MAPPING_NO_ROOM;
  }
  if (mapping.kind == CodeMapping::Kind::kGenerated) flags |= TEPHRA_MAPPING_GENERATED;
  return {mapping.start, mapping.end, mapping.offset, table, flags};
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
