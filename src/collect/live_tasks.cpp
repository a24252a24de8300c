#include "collect/live_tasks.h"

#include <algorithm>

namespace tephra::collect {
namespace {

// Longer than any two passes over the rings are apart.
constexpr uint64_t kBirthsLate = 60'000'000'000;

}  // namespace

void LiveTasks::heard(std::span<const TaskIds> born, std::span<const TaskIds> ended) {
  for (const TaskIds& task : ended) {
    uint64_t& time = ends_[task.tid];
    time = std::max(time, task.time);
    newest_end_ = std::max(newest_end_, time);
  }
  for (const TaskIds& task : born) {
    Task& known = tasks_[task.tid];
    // A number may be used again: the latest counts.
    if (task.time >= known.birth) known = {task.tid, task.pid, task.parent_tid, task.time};
  }
  const auto has_ended = [this](const auto& entry) {
    const auto end = ends_.find(entry.first);
    return end != ends_.end() && end->second >= entry.second.birth;
  };
  std::erase_if(tasks_, has_ended);
  drop_old_ends();
}

void LiveTasks::drop_old_ends() {
  std::erase_if(ends_, [this](const auto& entry) { return entry.second + kBirthsLate < newest_end_; });
}

std::vector<LiveTasks::Task> LiveTasks::all() const {
  std::vector<Task> tasks;
  for (const auto& [tid, task] : tasks_) tasks.push_back(task);
  std::stable_sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) { return a.birth < b.birth; });
  return tasks;
}

}  // namespace tephra::collect
