#include "collect/process_code.h"

#include <fmt/format.h>

#include <charconv>

#include "base/file.h"
#include "kernel/procfs.h"

namespace tephra::collect {
namespace {

// A process that maps this much is not one that we can serve.
constexpr size_t kLargestMaps = 16 << 20;
constexpr size_t kStartCodeField = 26;
constexpr size_t kStartStackField = 28;

std::string read_of_thread(pid_t pid, pid_t tid, const char* name, size_t limit) {
  auto text = base::read_small_file(fmt::format("/proc/{}/task/{}/{}", pid, tid, name), limit);
  return text ? std::move(*text) : std::string();
}

CodeMapping::Kind kind_of(const kernel::MemoryMap& map) {
  if (map.path == "[vdso]") return CodeMapping::Kind::kVdso;
  const bool file = map.inode != 0 && map.path.starts_with('/');
  return file ? CodeMapping::Kind::kFile : CodeMapping::Kind::kGenerated;
}

}  // namespace

std::vector<CodeMapping> parse_code_mappings(std::string_view maps) {
  std::vector<CodeMapping> mappings;
  while (!maps.empty()) {
    const size_t end = maps.find('\n');
    const auto map = kernel::parse_map_line(maps.substr(0, end));
    maps.remove_prefix(end == std::string_view::npos ? maps.size() : end + 1);
    // [vsyscall] lies in the kernel's half: no stack leads there.
    if (!map || !map->executable || map->end <= map->start || map->start >> 63 != 0) continue;
    mappings.push_back(
        {map->start, map->end, map->offset, kind_of(*map), map->major, map->minor, map->inode, std::string(map->path)});
  }
  return mappings;
}

bool parse_program_marks(std::string_view stat, ProcessCode& code) {
  // The name may hold anything, also parentheses.
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return false;
  stat.remove_prefix(name_end + 1);
  size_t field = 2;
  while (!stat.empty()) {
    const size_t begin = stat.find_first_not_of(' ');
    if (begin == std::string_view::npos) return false;
    stat.remove_prefix(begin);
    const size_t size = std::min(stat.find(' '), stat.size());
    uint64_t* const mark = ++field == kStartCodeField  ? &code.start_code
                           : field == kStartStackField ? &code.start_stack
                                                       : nullptr;
    if (mark != nullptr && std::from_chars(stat.data(), stat.data() + size, *mark).ec != std::errc()) return false;
    if (field == kStartStackField) return true;
    stat.remove_prefix(size);
  }
  return false;
}

std::optional<ProcessCode> read_process_code(pid_t pid, pid_t tid) {
  constexpr int kAttempts = 3;
  ProcessCode code;
  if (!parse_program_marks(read_of_thread(pid, tid, "stat", 4096), code)) return {};
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    code.mappings = parse_code_mappings(read_of_thread(pid, tid, "maps", kLargestMaps));
    // An exec in between would give one program's marks to the other's mappings.
    ProcessCode after;
    if (!parse_program_marks(read_of_thread(pid, tid, "stat", 4096), after)) return {};
    const bool same = after.start_code == code.start_code && after.start_stack == code.start_stack;
    // Kernel threads, and what is not ours to look at, have no stack.
    if (same && (code.start_stack == 0 || code.mappings.empty())) return {};
    if (same) return code;
    code.start_code = after.start_code;
    code.start_stack = after.start_stack;
  }
  return {};
}

}  // namespace tephra::collect
