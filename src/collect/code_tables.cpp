#include "collect/code_tables.h"

#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "collect/mapped_file.h"
#include "kernel/procfs.h"

namespace tephra::collect {
namespace {

constexpr size_t kMostFiles = 100'000;
constexpr size_t kMostThreads = 8;

// The thread that was sampled may have ended since, the first of a process, too, while others go on.
auto open_file(pid_t pid, pid_t tid, const CodeMapping& mapping) {
  auto file = open_mapped_file(tid, mapping.start, mapping.end, mapping.inode, mapping.path);
  if (file) return file;
  const std::vector<pid_t> threads = kernel::threads_of(pid);
  for (size_t i = 0; i < std::min(kMostThreads, threads.size()) && !file; ++i) {
    if (threads[i] == tid) continue;
    file = open_mapped_file(threads[i], mapping.start, mapping.end, mapping.inode, mapping.path);
  }
  return file;
}

}  // namespace

WalkedProcesses::Answer CodeTables::find(pid_t pid, pid_t tid, const CodeMapping& mapping) {
  switch (mapping.kind) {
    case CodeMapping::Kind::kFile:
      return find_file(pid, tid, mapping);
    case CodeMapping::Kind::kVdso:
      return {tables_.of_vdso(), false};
    case CodeMapping::Kind::kGenerated:
      // These live for ever.
      return {{std::shared_ptr<void>(), generated_.find(pid, tid, mapping)}, false};
  }
  return {};
}

WalkedProcesses::Answer CodeTables::find_file(pid_t pid, pid_t tid, const CodeMapping& mapping) {
  const auto file = open_file(pid, tid, mapping);
  struct stat info {};
  if (!file || ::fstat(file->get(), &info) != 0) return {nullptr, true};
  const FileKey key{mapping.major, mapping.minor, mapping.inode, info.st_ctim.tv_sec, info.st_ctim.tv_nsec};
  if (const auto known = files_.find(key); known != files_.end()) {
    if (known->second.no_rows) return {nullptr, known->second.no_file};
    if (auto table = known->second.table.lock()) return {std::move(table), false};
  }
  WalkedProcesses::Answer answer;
  answer.table = tables_.of_file(file->get());
  answer.no_file = answer.table == nullptr;
  if (files_.size() >= kMostFiles) files_.clear();
  const bool no_rows = answer.no_file || answer.table->empty();
  files_.insert_or_assign(key, Known{answer.table, no_rows, answer.no_file});
  return answer;
}

}  // namespace tephra::collect
