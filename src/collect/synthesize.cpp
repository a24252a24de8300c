#include "collect/synthesize.h"

#include <linux/perf_event.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/file.h"
#include "collect/elf_build_id.h"
#include "collect/event_attr.h"
#include "collect/mapped_file.h"
#include "kernel/cgroups.h"
#include "stream/put.h"

namespace tephra::collect {
namespace {

using stream::put;
using stream::put_name;

constexpr size_t kBlockBytes = 256 << 10;
constexpr size_t kMaxNameBytes = 4096;
constexpr size_t kMaxCommBytes = 64;
constexpr uint16_t kMiscBuildId = 1 << 14;   // PERF_RECORD_MISC_MMAP_BUILD_ID
constexpr uint16_t kMiscForkExec = 1 << 13;  // the mappings of the parent are not copied

std::string mmap_body(int32_t pid, uint32_t tid, uint64_t start, uint64_t size, uint64_t offset,
                      std::string_view name) {
  std::string body;
  put(body, pid);
  put(body, tid);
  put(body, start);
  put(body, size);
  put(body, offset);
  put_name(body, name, kMaxNameBytes);
  return body;
}

model::BuildId vdso_build_id() {
  const auto* image = reinterpret_cast<const std::byte*>(::getauxval(AT_SYSINFO_EHDR));
  if (image == nullptr) return {};
  return build_id_of_image(base::Bytes(image, static_cast<size_t>(::sysconf(_SC_PAGESIZE))));
}

}  // namespace

Synthesizer::Synthesizer(const Settings& settings, std::function<base::Status(base::Bytes)> write)
    : settings_(settings), write_(std::move(write)), vdso_(vdso_build_id()) {}

void Synthesizer::put_record(uint32_t type, uint16_t misc, std::string_view body, pid_t pid, pid_t tid) {
  SampleIdTrailer trailer;
  trailer.time = settings_.time;
  trailer.pid = static_cast<uint32_t>(pid);
  trailer.tid = static_cast<uint32_t>(tid);
  trailer.identifier = settings_.identifier;
  perf_event_header header{};
  header.type = type;
  header.misc = misc;
  header.size = static_cast<uint16_t>(sizeof header + body.size() + sizeof trailer);
  put(pending_, header);
  pending_ += body;
  put(pending_, trailer);
}

base::Status Synthesizer::add_kernel() {
  if (const auto text = kernel::kernel_text()) {
    const std::string body = mmap_body(-1, 0, text->start, text->size, text->start, "[kernel.kallsyms]_text");
    put_record(PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, body, 0, 0);
  }
  for (const auto& module : kernel::kernel_modules()) {
    const std::string name = fmt::format("[{}]", module.name);
    put_record(PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, mmap_body(-1, 0, module.start, module.size, 0, name), 0, 0);
  }
  return flush_when_full();
}

void Synthesizer::put_task(pid_t tid, const kernel::TaskStatus& task) {
  const bool leader = tid == task.tgid;
  std::string fork;
  put(fork, task.tgid);
  put(fork, leader ? task.ppid : task.tgid);
  put(fork, tid);
  put(fork, leader ? task.ppid : task.tgid);
  put(fork, uint64_t{0});
  put_record(PERF_RECORD_FORK, kMiscForkExec, fork, task.tgid, tid);
  std::string comm;
  put(comm, task.tgid);
  put(comm, tid);
  put_name(comm, task.comm, kMaxCommBytes);
  put_record(PERF_RECORD_COMM, 0, comm, task.tgid, tid);
}

void Synthesizer::put_maps(pid_t pid) {
  pid_t tid = pid;
  std::string text = kernel::maps_text(pid);
  if (text.empty()) {
    // The first thread shows nothing once it has ended; others may go on.
    for (const pid_t other : kernel::threads_of(pid)) {
      text = kernel::maps_text(tid = other);
      if (!text.empty()) break;
    }
  }
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = rest.find('\n');
    const auto map = kernel::parse_map_line(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (!map) continue;
    if (map->executable || (settings_.data_maps && map->readable && map->inode != 0)) put_map(pid, tid, *map);
  }
}

void Synthesizer::put_map(pid_t pid, pid_t tid, const kernel::MemoryMap& map) {
  const std::string_view name = map.path.empty() ? std::string_view("//anon") : map.path;
  const model::BuildId id = identity(tid, map);
  std::string body;
  put(body, pid);
  put(body, pid);
  put(body, map.start);
  put(body, map.end - map.start);
  put(body, map.offset);
  if (!id.empty()) files_.insert_or_assign(std::string(name), id);
  const bool tell_id = settings_.build_ids && !id.empty();
  if (tell_id) {
    put(body, static_cast<uint32_t>(id.bytes().size()));
    std::string bytes(base::as_text(id.bytes()));
    bytes.resize(20);
    body += bytes;
  } else {
    put(body, map.major);
    put(body, map.minor);
    put(body, map.inode);
    put(body, uint64_t{0});
  }
  put(body, static_cast<uint32_t>((map.executable ? PROT_EXEC : 0) | (map.readable ? PROT_READ : 0) |
                                  (map.writable ? PROT_WRITE : 0)));
  put(body, static_cast<uint32_t>(map.shared ? MAP_SHARED : MAP_PRIVATE));
  put_name(body, name, kMaxNameBytes);
  uint16_t misc = PERF_RECORD_MISC_USER;
  if (tell_id) misc |= kMiscBuildId;
  if (!map.executable) misc |= PERF_RECORD_MISC_MMAP_DATA;
  put_record(PERF_RECORD_MMAP2, misc, body, pid, pid);
}

model::BuildId Synthesizer::identity(pid_t tid, const kernel::MemoryMap& map) {
  if (map.path == "[vdso]") return vdso_;
  if (map.inode == 0 || !map.path.starts_with('/')) return {};
  const auto key = std::pair(static_cast<uint64_t>(::makedev(map.major, map.minor)), map.inode);
  if (const auto known = by_inode_.find(key); known != by_inode_.end()) return known->second;
  model::BuildId id;
  const auto file = open_mapped_file(tid, map.start, map.end, map.inode, map.path);
  if (file) id = build_id_of_file(file->get());
  by_inode_.emplace(key, id);
  return id;
}

base::Status Synthesizer::add_process(pid_t pid) {
  const auto threads = kernel::thread_count(pid) == 1 ? std::vector<pid_t>{pid} : kernel::threads_of(pid);
  for (const pid_t tid : threads) {
    if (const auto task = kernel::thread_status(pid, tid)) put_task(tid, *task);
  }
  put_maps(pid);
  return flush_when_full();
}

base::Status Synthesizer::add_thread(pid_t tid) {
  const auto task = kernel::task_status(tid);
  if (!task) return {};
  if (task->tgid != tid) {
    if (const auto leader = kernel::task_status(task->tgid)) put_task(task->tgid, *leader);
  }
  put_task(tid, *task);
  put_maps(task->tgid);
  return flush_when_full();
}

base::Status Synthesizer::add_all_processes() {
  constexpr size_t kBetween = 16;
  size_t added = 0;
  for (const pid_t pid : kernel::all_processes()) {
    TEPHRA_CHECK_OK(add_process(pid));
    if (++added % kBetween == 0 && between_) TEPHRA_CHECK_OK(between_());
  }
  return {};
}

base::Status Synthesizer::add_cgroups() {
  constexpr size_t kMostGroups = 20'000;
  const auto hierarchy = kernel::cgroup_hierarchy();
  if (!hierarchy) return {};
  const std::string& top = hierarchy->mount_point;
  std::error_code error;
  const auto add = [&](const std::string& folder) {
    struct stat info {};
    if (::stat(folder.c_str(), &info) != 0) return;
    std::string body;
    put(body, static_cast<uint64_t>(info.st_ino));
    put_name(body, folder == top ? "/" : std::string_view(folder).substr(top.size()), kMaxNameBytes);
    put_record(PERF_RECORD_CGROUP, 0, body, 0, 0);
  };
  add(top);
  size_t groups = 1;
  std::filesystem::recursive_directory_iterator entry(top, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator() && groups < kMostGroups;
       entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_directory(ignored)) continue;
    add(entry->path().string());
    ++groups;
    TEPHRA_CHECK_OK(flush_when_full());
  }
  return {};
}

void Synthesizer::add_program(pid_t pid, pid_t parent, const std::string& comm) {
  put_task(pid, kernel::TaskStatus{comm.substr(0, 15), pid, parent});
}

void Synthesizer::add_lost(uint64_t count, uint64_t time) {
  std::string body;
  put(body, settings_.identifier);
  put(body, count);
  settings_.time = time;
  put_record(PERF_RECORD_LOST, 0, body, 0, 0);
}

base::Status Synthesizer::flush_when_full() { return pending_.size() < kBlockBytes ? base::Status() : flush(); }

base::Status Synthesizer::flush() {
  if (pending_.empty()) return {};
  auto status = write_(base::as_bytes(pending_));
  pending_.clear();
  return status;
}

}  // namespace tephra::collect
