#include "stream/data_mappings.h"

#include <sys/mman.h>

#include <algorithm>
#include <string_view>
#include <variant>

#include "stream/decoder.h"

namespace tephra::stream {
namespace {

using base::ByteReader;

constexpr size_t kFileIdentityBytes = 24;

// How the kernel names what has no file, and files that are memory.
bool is_memory(std::string_view path) {
  return path.starts_with("/dev/zero") || path.starts_with("/SYSV") || path.starts_with("/memfd:") ||
         path.starts_with("/dev/shm/");
}

DataMapping kind_of(std::string_view path, uint32_t protection, uint32_t flags) {
  if (path == "[heap]") return DataMapping::kHeap;
  if (path.starts_with("[stack")) return DataMapping::kStack;
  const bool shared = flags & MAP_SHARED;
  if (path.starts_with("//anon") || path.starts_with("/anon_hugepage") || path.starts_with("[anon")) {
    return flags & MAP_GROWSDOWN ? DataMapping::kStack : DataMapping::kAnonymous;
  }
  if (path.starts_with('[')) return DataMapping::kNotTold;  // [vdso], [vvar]: nobody's memory
  if (shared && is_memory(path)) return DataMapping::kSharedMemory;
  return shared || !(protection & PROT_WRITE) ? DataMapping::kFile : DataMapping::kPrivateFile;
}

}  // namespace

bool DataMappings::read_mapping(const Record& record, Pending& pending) {
  ByteReader reader(record.body());
  pending.pid = reader.read<int32_t>();
  reader.skip(sizeof(int32_t));
  pending.range.start = reader.u64();
  const uint64_t size = reader.u64();
  reader.skip(sizeof(uint64_t) + kFileIdentityBytes);
  const uint32_t protection = reader.u32();
  const uint32_t flags = reader.u32();
  if (!reader.ok() || size == 0 || pending.range.start + size < size || pending.pid < 0) return false;
  pending.range.end = pending.range.start + size;
  const std::string_view path = base::until_nul(reader.bytes(reader.remaining()));
  pending.range.mapping.value = static_cast<uint32_t>(kind_of(path, protection, flags));
  return true;
}

DataMappings::DataMappings(const Recording& recording) {
  const Decoder decoder(recording);
  std::vector<Pending> all;
  for (const base::Bytes part : recording.records) {
    RecordWalker walker(part);
    Record record;
    while (walker.next(record)) {
      Pending next;
      if (record.type == PERF_RECORD_MMAP2 && (record.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER) {
        if (!read_mapping(record, next)) continue;
      } else if (record.type == PERF_RECORD_FORK || record.type == PERF_RECORD_COMM) {
        const Event event = decoder.decode(record);
        const auto* fork = std::get_if<Fork>(&event);
        const auto* comm = std::get_if<Comm>(&event);
        const bool born = fork != nullptr && !fork->synthesized && fork->pid != fork->parent_pid;
        if (!born && (comm == nullptr || !comm->exec)) continue;
        next.pid = born ? fork->pid : comm->pid;
        next.parent = born ? fork->parent_pid : -1;
        next.exec = !born;
      } else {
        continue;
      }
      next.time = decoder.time_of(record);
      all.push_back(next);
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Pending& a, const Pending& b) { return a.time < b.time; });
  for (const Pending& pending : all) apply(pending);
}

void DataMappings::apply(const Pending& pending) {
  Change next{pending.time, AddressSpaces::kEmpty, false};
  if (pending.parent >= 0) {
    const auto parent = processes_.find(pending.parent);
    next.forked = true;
    if (parent != processes_.end() && !parent->second.empty()) next.state = parent->second.back().state;
    processes_[pending.pid].push_back(next);
    // Their pages are shared from now on, whoever writes first.
    if (parent != processes_.end()) processes_[pending.parent].push_back({pending.time, next.state, true});
    return;
  }
  auto& changes = processes_[pending.pid];
  if (!pending.exec) {
    if (!changes.empty()) next = {pending.time, changes.back().state, changes.back().forked};
    next.state = spaces_.map(next.state, pending.range);
  }
  changes.push_back(next);
}

DataMappings::Found DataMappings::at(int32_t pid, uint64_t time, uint64_t address) const {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return {};
  const auto& changes = process->second;
  const auto after = std::upper_bound(changes.begin(), changes.end(), time,
                                      [](uint64_t moment, const Change& change) { return moment < change.time; });
  if (after == changes.begin()) return {};
  const Change& change = *(after - 1);
  const MappedRange* range = spaces_.find(change.state, address);
  if (range == nullptr) return {DataMapping::kNotTold, change.forked};
  return {static_cast<DataMapping>(range->mapping.value), change.forked};
}

}  // namespace tephra::stream
