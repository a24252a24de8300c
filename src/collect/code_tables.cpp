#include "collect/code_tables.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "collect/elf_build_id.h"
#include "collect/mapped_file.h"
#include "unwind/generated_code.h"

namespace tephra::collect {
namespace {

constexpr size_t kMostFiles = 100'000;

// Code that programs make at run time is walked by frame pointers, but for some that is known by its bytes.
const unwind::FrameTable* find_generated(pid_t pid, const CodeMapping& mapping) {
  const base::FileDescriptor memory(::open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<std::byte, unwind::kGeneratedCodeBytes> bytes{};
  const size_t wanted = std::min<uint64_t>(bytes.size(), mapping.end - mapping.start);
  const ssize_t got = memory ? ::pread(memory.get(), bytes.data(), wanted, static_cast<off_t>(mapping.start)) : -1;
  return got <= 0 ? nullptr : unwind::generated_code_table(base::Bytes(bytes).first(static_cast<size_t>(got)));
}

}  // namespace

WalkedProcesses::Answer CodeTables::find(pid_t pid, const CodeMapping& mapping) {
  switch (mapping.kind) {
    case CodeMapping::Kind::kFile:
      return find_file(pid, mapping);
    case CodeMapping::Kind::kVdso:
      return {store_.find_vdso({}), false};
    case CodeMapping::Kind::kGenerated:
      return {find_generated(pid, mapping), false};
  }
  return {};
}

WalkedProcesses::Answer CodeTables::find_file(pid_t pid, const CodeMapping& mapping) {
  const auto file = open_mapped_file(pid, mapping.start, mapping.end, mapping.inode, mapping.path);
  struct stat info {};
  if (!file || ::fstat(file->fd.get(), &info) != 0) return {nullptr, true};
  const FileKey key{mapping.major, mapping.minor, mapping.inode, info.st_ctim.tv_sec, info.st_ctim.tv_nsec};
  if (const auto known = files_.find(key); known != files_.end()) return known->second;
  symbols::WantedFile wanted;
  wanted.path = file->path;
  wanted.build_id = build_id_of_file(file->fd.get());
  wanted.identity = {uint64_t{mapping.major} << 32 | mapping.minor, mapping.inode, 0};
  WalkedProcesses::Answer answer;
  answer.table = store_.find(wanted);
  answer.no_file = answer.table == nullptr;
  if (files_.size() >= kMostFiles) files_.clear();
  files_.emplace(key, answer);
  return answer;
}

}  // namespace tephra::collect
