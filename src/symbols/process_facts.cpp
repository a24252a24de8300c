#include "symbols/process_facts.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>

#include "base/file.h"
#include "base/names.h"
#include "kernel/event_trial.h"
#include "kernel/process_activity.h"
#include "kernel/procfs.h"
#include "kernel/status_text.h"
#include "symbols/regular_file.h"

namespace tephra::symbols {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

std::string proc_path(pid_t pid, std::string_view name) { return fmt::format("/proc/{}/{}", pid, name); }

std::string link_of(const std::string& path) {
  char target[4096];
  const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
  return length > 0 ? std::string(target, static_cast<size_t>(length)) : std::string();
}

// Only where both can be read and differ; nothing is claimed otherwise.
bool other_namespace(pid_t pid, std::string_view kind) {
  const std::string theirs = link_of(proc_path(pid, fmt::format("ns/{}", kind)));
  const std::string ours = link_of(fmt::format("/proc/self/ns/{}", kind));
  return !theirs.empty() && !ours.empty() && theirs != ours;
}

// Memory that holds code of a file, all mappings of that file together.
struct CodeMapping {
  kernel::MemoryMap first;
  uint64_t bytes = 0;
};

struct Memory {
  std::map<std::string, CodeMapping> files;  // by path, "(deleted)" included
  uint64_t unnamed_code_bytes = 0;
  std::string jitdump;
};

bool is_unnamed_code(const kernel::MemoryMap& map) {
  if (map.path.empty() || map.path.starts_with("[anon") || map.path.starts_with("//anon")) return true;
  return map.path.starts_with("/memfd:") || map.path.starts_with("/dev/zero");
}

bool is_jitdump(std::string_view path) {
  const auto name = base::path_base_name(path);
  return name.starts_with("jit-") && name.ends_with(".dump");
}

Memory memory_of(std::string_view maps) {
  Memory memory;
  while (!maps.empty()) {
    const size_t end = maps.find('\n');
    const auto map = kernel::parse_map_line(maps.substr(0, end));
    maps.remove_prefix(end == std::string_view::npos ? maps.size() : end + 1);
    if (!map || !map->executable) continue;
    const uint64_t size = map->end - map->start;
    if (is_jitdump(map->path)) {
      memory.jitdump = map->path;
    } else if (is_unnamed_code(*map)) {
      memory.unnamed_code_bytes += size;
    } else if (map->path.starts_with('/')) {
      const auto [place, is_new] = memory.files.try_emplace(std::string(map->path));
      if (is_new) place->second.first = *map;
      place->second.bytes += size;
    }
  }
  return memory;
}

bool is_file(const std::string& path, uint64_t inode) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_ino == inode;
}

// The file that is mapped: as the kernel holds it where we may ask for that, else by its path in the process's own
// view of the file system.
base::Result<RegularContent> open_mapped(pid_t pid, const CodeMapping& mapping, const std::string& path) {
  const auto& map = mapping.first;
  auto held = open_regular(fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, map.start, map.end));
  if (held) return held;
  const std::string there = proc_path(pid, "root") + path;
  if (is_file(there, map.inode)) return open_regular(there);
  // Where the process's root is not ours to enter, our own file of that name may be the same one.
  if (is_file(path, map.inode)) return open_regular(path);
  return base::failed("cannot open", path);
}

bool leads_to(const std::string& path, const ModuleFacts& facts, uint64_t inode) {
  if (facts.build_id.empty()) return is_file(path, inode);
  const auto file = open_regular(path);
  const auto elf = file ? objects::ElfFile::parse(file->bytes()) : base::failed("");
  return elf && model::BuildId(elf->build_id()) == facts.build_id;
}

ModuleFacts module_facts(pid_t pid, const std::string& mapped_path, const CodeMapping& mapping) {
  ModuleFacts facts;
  facts.deleted = mapped_path.ends_with(kDeleted);
  facts.path = facts.deleted ? mapped_path.substr(0, mapped_path.size() - kDeleted.size()) : mapped_path;
  facts.code_bytes = mapping.bytes;
  const std::string there = proc_path(pid, "root") + facts.path;
  facts.replaced = facts.deleted && ::access(there.c_str(), F_OK) == 0;
  if (const auto file = open_mapped(pid, mapping, facts.path)) read_module(file->bytes(), facts.path, facts);
  facts.found_by_path = leads_to(facts.path, facts, mapping.first.inode);
  return facts;
}

void find_packages(ProcessFacts& facts) {
  const std::string root = proc_path(facts.pid, "root");
  facts.distribution = distribution_of(root);
  if (facts.distribution != Distribution::kDebian) return;
  std::vector<std::string> paths;
  for (const ModuleFacts& module : facts.modules) paths.push_back(module.path);
  const auto owners = package_owners(root, paths);
  for (ModuleFacts& module : facts.modules) {
    const auto owner = owners.find(module.path);
    if (owner == owners.end()) continue;
    module.package = owner->second;
    module.debug_package = debug_package_of(owner->second);
  }
}

void read_memory(ProcessFacts& facts) {
  const std::string maps = kernel::maps_text(facts.pid);
  facts.maps_readable = !maps.empty();
  const Memory memory = memory_of(maps);
  facts.unnamed_code_bytes = memory.unnamed_code_bytes;
  facts.jitdump = memory.jitdump;
  const std::string program = link_of(proc_path(facts.pid, "exe"));
  for (const auto& [path, mapping] : memory.files) {
    facts.modules.push_back(module_facts(facts.pid, path, mapping));
    facts.modules.back().program = path == program;
  }
  std::stable_sort(facts.modules.begin(), facts.modules.end(), [](const ModuleFacts& a, const ModuleFacts& b) {
    return a.program != b.program ? a.program : a.code_bytes > b.code_bytes;
  });
  const std::string map_path = fmt::format("/tmp/perf-{}.map", facts.inner_pid);
  struct stat info {};
  if (::lstat((proc_path(facts.pid, "root") + map_path).c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
    facts.perf_map = map_path;
  }
}

void read_status(std::string_view status, ProcessFacts& facts) {
  using kernel::number_of;
  facts.tracer = static_cast<pid_t>(number_of(status, "TracerPid").value_or(0));
  facts.uid = static_cast<uint32_t>(number_of(status, "Uid").value_or(0));
  facts.inner_pid =
      static_cast<pid_t>(kernel::last_number_of(status, "NSpid").value_or(static_cast<uint64_t>(facts.pid)));
  facts.threads = number_of(status, "Threads").value_or(0);
  facts.kernel_thread = facts.state != 'Z' && facts.state != 'X' && !number_of(status, "VmSize");
}

// The number in "python3.11" and "libpython3.11.so.1.0".
std::string version_behind(std::string_view name, std::string_view prefix) {
  name.remove_prefix(prefix.size());
  size_t end = 0;
  while (end < name.size() && ((name[end] >= '0' && name[end] <= '9') || name[end] == '.')) ++end;
  while (end > 0 && name[end - 1] == '.') --end;
  return std::string(name.substr(0, end));
}

}  // namespace

std::vector<Runtime> runtimes_of(const std::vector<ModuleFacts>& modules) {
  struct Sign {
    std::string_view prefix;
    std::string_view runtime;
  };
  static constexpr Sign kSigns[] = {
      {"libjvm.so", "java"},   {"libcoreclr.so", "dotnet"}, {"libnode.so", "node"}, {"node", "node"},
      {"libpython", "python"}, {"python", "python"},        {"libruby", "ruby"},    {"ruby", "ruby"}};
  std::vector<Runtime> found;
  const auto add = [&](std::string_view name, std::string version) {
    const auto same = [&](const Runtime& runtime) { return runtime.name == name; };
    if (std::none_of(found.begin(), found.end(), same)) found.push_back({std::string(name), std::move(version)});
  };
  for (const ModuleFacts& module : modules) {
    if (module.go) add("go", "");
    const auto name = base::path_base_name(module.path);
    for (const Sign& sign : kSigns) {
      if (!name.starts_with(sign.prefix)) continue;
      const auto rest = name.substr(sign.prefix.size());
      // "node" and "node18", not "node_exporter".
      if (!rest.empty() && rest.front() != '.' && rest.front() != '-' && (rest.front() < '0' || rest.front() > '9')) {
        continue;
      }
      add(sign.runtime, version_behind(name, sign.prefix));
      break;
    }
  }
  return found;
}

base::Result<ProcessFacts> process_facts(pid_t pid) {
  const auto task = kernel::task_status(pid);
  if (!task) return base::failed("no such process", fmt::format("{}", pid), "", "'ps -e' lists those that run.");
  if (task->tgid != pid) {
    return base::failed("not a process", fmt::format("{}", pid),
                        fmt::format("it is a thread of process {}", task->tgid),
                        fmt::format("Try: tephra doctor -p {}.", task->tgid));
  }
  ProcessFacts facts;
  facts.pid = pid;
  facts.comm = task->comm;
  const auto stat = base::read_small_file(proc_path(pid, "stat"));
  if (const auto parsed = stat ? kernel::parse_task_stat(*stat) : std::nullopt) facts.state = parsed->state;
  const auto status = base::read_small_file(proc_path(pid, "status"));
  if (status) read_status(*status, facts);
  const auto cgroup = base::read_small_file(proc_path(pid, "cgroup"));
  if (cgroup) facts.container = kernel::container_mark(*cgroup);
  facts.other_pid_namespace = other_namespace(pid, "pid");
  facts.other_mount_namespace = other_namespace(pid, "mnt");
  facts.event = kernel::try_process_event(pid);
  if (facts.kernel_thread || facts.state == 'Z' || facts.state == 'X') return facts;
  read_memory(facts);
  facts.runtimes = runtimes_of(facts.modules);
  find_packages(facts);
  facts.debuginfod = std::getenv("DEBUGINFOD_URLS") != nullptr;
  facts.ended = !kernel::process_exists(pid) || (!facts.maps_readable && kernel::threads_of(pid).empty());
  return facts;
}

}  // namespace tephra::symbols
