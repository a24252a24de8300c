#include "analysis/sched_tasks.h"

#include <linux/perf_event.h>

#include <variant>

#include "stream/decoder.h"
#include "stream/records.h"

namespace tephra::analysis {

SchedTasks::SchedTasks(const stream::Recording& recording) {
  const stream::Decoder decoder(recording);
  for (const base::Bytes part : recording.records) {
    stream::RecordWalker walker(part);
    stream::Record record;
    while (walker.next(record)) {
      if (record.type != PERF_RECORD_COMM && record.type != PERF_RECORD_FORK) continue;
      const stream::Event event = decoder.decode(record);
      if (const auto* comm = std::get_if<stream::Comm>(&event)) {
        Task& task = tasks_[comm->tid];
        if (task.comm.empty()) task.comm.assign(comm->name);
        if (task.pid < 0) task.pid = comm->pid;
      } else if (const auto* fork = std::get_if<stream::Fork>(&event)) {
        Task& task = tasks_[fork->tid];
        task.pid = fork->pid;
        // Of a thread its process is the parent, of a process the one that forked it.
        task.parent = fork->pid == fork->parent_pid ? fork->parent_tid : fork->parent_pid;
      }
    }
  }
}

void SchedTasks::note(const stream::Origin& origin) {
  if (origin.tid <= 0 || origin.pid <= 0) return;
  tasks_[origin.tid].pid = origin.pid;
}

void SchedTasks::note(const stream::SchedTask& task) {
  if (task.tid <= 0 || task.comm.empty()) return;
  std::string& comm = tasks_[task.tid].comm;
  if (comm != task.comm) comm.assign(task.comm);
}

void SchedTasks::note_fork(const stream::SchedFork& fork) {
  if (fork.child.tid <= 0) return;
  tasks_[fork.child.tid].parent = fork.parent;
  note(fork.child);
}

int32_t SchedTasks::pid(int32_t tid) const {
  const auto found = tasks_.find(tid);
  return found == tasks_.end() ? -1 : found->second.pid;
}

int32_t SchedTasks::parent(int32_t tid) const {
  const auto found = tasks_.find(tid);
  return found == tasks_.end() ? -1 : found->second.parent;
}

std::string SchedTasks::comm(int32_t tid) const {
  if (tid == 0) return "[idle]";
  const auto found = tasks_.find(tid);
  if (found == tasks_.end() || found->second.comm.empty()) return ":" + std::to_string(tid);
  return found->second.comm;
}

}  // namespace tephra::analysis
