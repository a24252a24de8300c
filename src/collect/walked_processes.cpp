#include "collect/walked_processes.h"

#include <algorithm>

namespace tephra::collect {
namespace {

constexpr std::chrono::milliseconds kFirstRefusal{20};
constexpr std::chrono::milliseconds kLongestRefusal{5000};
constexpr size_t kMostRefusals = 10'000;

}  // namespace

void WalkedProcesses::wanted(pid_t pid, pid_t tid, Clock::time_point now) {
  const auto refused = refusals_.find(pid);
  if (refused != refusals_.end() && now < refused->second.until) return;
  if (learn(pid, tid))
    refusals_.erase(pid);
  else
    refuse_for_a_while(pid, now);
}

void WalkedProcesses::refuse_for_a_while(pid_t pid, Clock::time_point now) {
  if (refusals_.size() >= kMostRefusals) refusals_.clear();
  Refusal& refusal = refusals_[pid];
  refusal.wait = refusal.wait.count() == 0 ? kFirstRefusal : std::min(2 * refusal.wait, kLongestRefusal);
  refusal.until = now + refusal.wait;
}

void WalkedProcesses::changed(pid_t pid, pid_t tid) {
  if (known_.contains(pid)) learn(pid, tid);
}

bool WalkedProcesses::learn(pid_t pid, pid_t tid) {
  auto code = sources_.code(pid, tid);
  if (!code) {
    ended(pid);
    return false;
  }
  const auto before = known_.find(pid);
  if (before != known_.end() && before->second.whole && before->second.code == *code) return false;
  Known known{std::move(*code), {}, true, ++sets_};
  while (!set(pid, known)) {
    // Those known for longest make room: the kernel asks for them again when they run.
    if (!forget_oldest(pid)) {
      ++no_room_;
      ended(pid);
      return false;
    }
  }
  Known& now = known_[pid];
  for (const uint32_t table : now.tables) tables_.give_back(table);
  now = std::move(known);
  return now.whole;
}

// On failure it uses no tables.
base::Status WalkedProcesses::set(pid_t pid, Known& process) {
  std::vector<tephra_walk_mapping> mappings;
  process.whole = true;
  for (const CodeMapping& each : process.code.mappings) {
    const Answer answer = sources_.table(pid, each);
    const bool has_rows = answer.table != nullptr && !answer.table->empty();
    const uint32_t table = has_rows ? tables_.take(*answer.table) : 0;
    if (table != 0) process.tables.push_back(table);
    if (has_rows && table == 0) {
      // No room for its rows. Left out, samples there are left to perf, which copies the stack: slower, not wrong.
      process.whole = false;
      continue;
    }
    mappings.push_back({each.start, each.end, each.offset, table, answer.no_file ? TEPHRA_MAPPING_NO_FILE : 0U});
  }
  auto status = program_.set_process(pid, process.code.start_stack, process.code.start_code, mappings);
  if (status) return status;
  for (const uint32_t table : process.tables) tables_.give_back(table);
  process.tables.clear();
  return status;
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
  for (const uint32_t table : known->second.tables) tables_.give_back(table);
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
