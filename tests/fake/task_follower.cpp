#include "task_follower.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/file.h"
#include "kernel/cgroups.h"
#include "kernel/procfs.h"
#include "program_code.h"

namespace tephra::fake {
namespace {

constexpr uint64_t kTurnsBetweenScans = 4;
constexpr uint64_t kTurnsOnACpu = 50;

struct Stat {
  char state = 'X';
  pid_t parent = 0;
};

std::optional<Stat> stat_of(pid_t tid) {
  const auto text = base::read_small_file("/proc/" + std::to_string(tid) + "/stat");
  if (!text) return {};
  const size_t name_end = text->rfind(')');
  if (name_end == std::string::npos || name_end + 4 > text->size()) return {};
  return Stat{(*text)[name_end + 2], static_cast<pid_t>(std::atoi(text->c_str() + name_end + 4))};
}

bool alive(pid_t tid) {
  const auto stat = stat_of(tid);
  return stat && stat->state != 'Z' && stat->state != 'X';
}

// Which program is in a process, and where: both change with exec.
std::string image_of(pid_t pid) {
  char path[4096];
  const ssize_t length = ::readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), path, sizeof path);
  if (length <= 0) return "";
  const std::string maps = kernel::maps_text(pid);
  return std::string(path, static_cast<size_t>(length)) + maps.substr(0, maps.find(' '));
}

std::string group_folder(pid_t pid) {
  const auto hierarchy = kernel::cgroup_hierarchy();
  return hierarchy ? kernel::folder_of_group(*hierarchy, kernel::cgroup_of(pid)) : "";
}

}  // namespace

std::vector<Task> TaskFollower::follow() {
  for (const pid_t tid : machine_.attached_tasks()) {
    if (!known_.contains(tid)) learn(tid);
  }
  if (turn_ % kTurnsBetweenScans == 0) find_heirs();
  for (auto& [tid, known] : known_) look_at(known);
  forget_gone();
  ++turn_;
  return take_turns();
}

bool TaskFollower::waits_for_exec(pid_t tid) {
  const auto events = machine_.events();
  return std::any_of(events.begin(), events.end(),
                     [tid](const auto& event) { return event.tid == tid && event.waits_for_exec; });
}

void TaskFollower::learn(pid_t tid) {
  const auto status = kernel::task_status(tid);
  if (!status) return;
  Known known;
  known.task.pid = status->tgid;
  known.task.tid = tid;
  known.task.cpu = static_cast<int>(known_.size()) % config_.cpus;
  known.task.cgroup = group_folder(status->tgid);
  known.comm = status->comm;
  // Who waits for an exec was forked from us; it may have happened before we looked.
  known.image = image_of(waits_for_exec(tid) ? ::getpid() : status->tgid);
  const auto mappings = mappings_of(status->tgid);
  for (const Mapping& mapping : mappings) known.mapped.insert(mapping.start);
  known.task.code = code_of(status->tgid, mappings, config_.functions);
  if (existing_.empty()) {
    for (const pid_t pid : kernel::all_processes()) existing_.insert(pid);
  }
  for (const pid_t other : kernel::threads_of(status->tgid)) existing_.insert(other);
  known_.emplace(tid, std::move(known));
}

void TaskFollower::look_at(Known& known) {
  if (known.task.pid != known.task.tid || known.task.pid == ::getpid()) return;
  const std::string image = image_of(known.task.pid);
  if (!image.empty() && image != known.image) {
    known.image = image;
    tell_exec(known);
  } else if (turn_ % kTurnsBetweenScans == 0) {
    tell_new_mappings(known);
  }
}

void TaskFollower::tell_exec(Known& known) {
  const auto status = kernel::task_status(known.task.tid);
  if (status) known.comm = status->comm;
  const auto mappings = mappings_of(known.task.pid);
  known.mapped.clear();
  for (const Mapping& mapping : mappings) known.mapped.insert(mapping.start);
  known.task.code = code_of(known.task.pid, mappings, config_.functions);
  machine_.exec(known.task, known.comm, mappings);
}

void TaskFollower::tell_new_mappings(Known& known) {
  for (const Mapping& mapping : mappings_of(known.task.pid)) {
    if (known.mapped.insert(mapping.start).second) machine_.map_file(known.task, mapping);
  }
}

// Threads and children that came since. Their events are inherited where the events say so.
void TaskFollower::find_heirs() {
  std::map<pid_t, Task> processes;
  for (const auto& [tid, known] : known_) {
    if (known.task.pid != ::getpid()) processes.emplace(known.task.pid, known.task);
  }
  const bool everything = machine_.counts_cpus();
  if (processes.empty() && !everything) return;
  std::vector<std::pair<Task, std::pair<pid_t, pid_t>>> born;
  for (const auto& [pid, parent] : processes) {
    for (const pid_t tid : kernel::threads_of(pid)) {
      if (!known_.contains(tid) && !existing_.contains(tid)) born.push_back({parent, {pid, tid}});
    }
  }
  for (const pid_t pid : kernel::all_processes()) {
    if (known_.contains(pid) || (existing_.contains(pid) && !everything)) continue;
    const auto stat = stat_of(pid);
    if (!stat || stat->state == 'Z') continue;
    if (everything && stat->parent == ::getpid()) learn(pid);
    const auto parent = processes.find(stat->parent);
    if (parent != processes.end() && !existing_.contains(pid)) {
      born.push_back({parent->second, {pid, pid}});
    }
  }
  for (const auto& [parent, child] : born) {
    machine_.fork(parent, child.first, child.second);
    learn(child.second);
  }
}

void TaskFollower::forget_gone() {
  std::erase_if(known_, [&](const auto& entry) {
    if (alive(entry.first)) return false;
    machine_.exit(entry.second.task);
    return true;
  });
}

std::vector<Task> TaskFollower::take_turns() {
  std::vector<Task> tasks;
  const auto cpus = static_cast<uint64_t>(config_.cpus);
  const uint64_t count = known_.size();
  const uint64_t shift = count > cpus ? turn_ * cpus : 0;
  uint64_t index = 0;
  for (auto& [tid, known] : known_) {
    const uint64_t place = (index++ + count - shift % count) % count;
    if (place >= cpus) continue;
    known.task.cpu = static_cast<int>((place + turn_ / kTurnsOnACpu) % cpus);
    tasks.push_back(known.task);
  }
  return tasks;
}

}  // namespace tephra::fake
