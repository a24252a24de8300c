#include "kernel/procfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "base/file.h"

namespace tephra::kernel {
namespace {

std::vector<pid_t> numeric_entries(const std::string& folder) {
  std::vector<pid_t> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> handle(::opendir(folder.c_str()), ::closedir);
  if (!handle) return found;
  while (const dirent* entry = ::readdir(handle.get())) {
    const std::string_view name = entry->d_name;
    pid_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) found.push_back(number);
  }
  std::sort(found.begin(), found.end());
  return found;
}

template <class T>
bool take_number(std::string_view& text, T& value, int base, char separator) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (separator == 0) return true;
  if (text.empty() || text.front() != separator) return false;
  text.remove_prefix(1);
  return true;
}

std::string_view next_line(std::string_view& text) {
  const size_t end = text.find('\n');
  const auto line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::string_view next_word(std::string_view& line) {
  const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  line.remove_prefix(begin);
  const auto word = line.substr(0, line.find_first_of(" \t"));
  line.remove_prefix(word.size());
  return word;
}

pid_t status_number(std::string_view status, std::string_view field) {
  const size_t at = status.find(field);
  if (at == std::string_view::npos) return 0;
  auto rest = status.substr(at + field.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  pid_t value = 0;
  take_number(rest, value, 10, 0);
  return value;
}

// The address of a symbol of the kernel, 0 where it is absent or hidden. The kernel makes the list as it is read, which
// takes tens of milliseconds to the end, so reading stops at the symbol.
uint64_t kernel_symbol(std::string_view name) {
  base::FileDescriptor fd(::open("/proc/kallsyms", O_RDONLY | O_CLOEXEC));
  std::string text;
  char block[1 << 14];
  ssize_t got;
  while (fd && (got = ::read(fd.get(), block, sizeof block)) > 0) {
    text.append(block, static_cast<size_t>(got));
    std::string_view rest = text;
    while (rest.find('\n') != std::string_view::npos) {
      auto line = next_line(rest);
      uint64_t address = 0;
      if (take_number(line, address, 16, ' ') && line.size() > 2 && line.substr(2) == name) return address;
    }
    text.erase(0, text.size() - rest.size());
  }
  return 0;
}

// The bytes of the kernel's code by its place in physical memory, which only root may see; 0: unknown. It is that of
// _text to _etext on x86 alone.
uint64_t kernel_code_size() {
#if defined(__x86_64__)
  const auto text = base::read_small_file("/proc/iomem");
  const size_t at = text ? text->find(" : Kernel code") : std::string::npos;
  if (at == std::string::npos) return 0;
  std::string_view line = std::string_view(*text).substr(0, at);
  line.remove_prefix(std::min(line.find_first_not_of(' ', line.rfind('\n') + 1), line.size()));
  uint64_t first = 0;
  uint64_t last = 0;
  if (!take_number(line, first, 16, '-') || !take_number(line, last, 16, 0) || first == 0 || last <= first) return 0;
  return last - first + 1;
#else
  return 0;
#endif
}

}  // namespace

std::vector<pid_t> all_processes(const std::string& root) { return numeric_entries(root + "/proc"); }

std::vector<pid_t> threads_of(pid_t pid) { return numeric_entries(fmt::format("/proc/{}/task", pid)); }

bool process_exists(pid_t pid) { return ::access(fmt::format("/proc/{}", pid).c_str(), F_OK) == 0; }

std::optional<TaskStatus> task_status(pid_t tid) {
  auto status = base::read_small_file(fmt::format("/proc/{}/status", tid));
  // The Name line of status is escaped; comm is not.
  auto comm = base::read_small_file(fmt::format("/proc/{}/comm", tid));
  if (!status || !comm) return {};
  TaskStatus task;
  task.comm = std::move(*comm);
  if (!task.comm.empty() && task.comm.back() == '\n') task.comm.pop_back();
  task.tgid = status_number(*status, "\nTgid:");
  task.ppid = status_number(*status, "\nPPid:");
  if (task.tgid == 0) return {};
  return task;
}

std::optional<TaskStatus> thread_status(pid_t pid, pid_t tid) {
  const auto text = base::read_small_file(fmt::format("/proc/{}/task/{}/stat", pid, tid));
  if (!text) return {};
  // tid (comm) state ppid …, where the name may hold brackets itself.
  const size_t begin = text->find('(');
  const size_t end = text->rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  TaskStatus task;
  task.comm = text->substr(begin + 1, end - begin - 1);
  task.tgid = pid;
  std::string_view rest = std::string_view(*text).substr(end + 1);
  next_word(rest);  // state
  std::string_view parent = next_word(rest);
  if (!take_number(parent, task.ppid, 10, 0)) return {};
  return task;
}

std::optional<double> cpu_seconds(pid_t id) {
  const auto text = base::read_small_file(fmt::format("/proc/{}/stat", id));
  if (!text) return {};
  // The name, in brackets, may hold anything; numbers follow its last bracket: state first, then times 12th and 13th.
  const size_t name_end = text->rfind(')');
  if (name_end == std::string::npos) return {};
  unsigned long user = 0;
  unsigned long system = 0;
  const char* fields = text->c_str() + name_end + 1;
  if (std::sscanf(fields, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2) return {};
  return static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::optional<TaskState> parse_task_state(std::string_view stat) {
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || stat.size() < name_end + 3 || stat[name_end + 1] != ' ') return {};
  switch (stat[name_end + 2]) {
    case 'R':
    case 'W':  // waking, before Linux 4.14
      return TaskState::kRunning;
    case 'S':
    case 'P':  // parked
    case 'K':  // in a wait that only being killed ends
      return TaskState::kSleeping;
    case 'D':
      return TaskState::kBlocked;
    case 'T':
      return TaskState::kStopped;
    case 't':
      return TaskState::kTraced;
    case 'I':
      return TaskState::kIdle;
    case 'Z':
      return TaskState::kZombie;
    case 'X':
    case 'x':
      return TaskState::kDead;
    default:
      return {};
  }
}

std::optional<TaskState> task_state(pid_t id) {
  const auto text = base::read_small_file(fmt::format("/proc/{}/stat", id));
  if (!text) return {};
  return parse_task_state(*text);
}

std::optional<uint64_t> parse_first_stack_end(std::string_view stat) {
  constexpr int kWordsBefore = 25;  // from the state, the third field, to startstack, the twenty-eighth
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return {};
  std::string_view rest = stat.substr(name_end + 1);
  for (int word = 0; word < kWordsBefore; ++word) next_word(rest);
  const std::string_view word = next_word(rest);
  uint64_t address = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), address);
  if (error != std::errc() || end != word.data() + word.size() || address == 0) return {};
  return address;
}

std::optional<uint64_t> first_stack_end(pid_t pid) {
  const auto text = base::read_small_file(fmt::format("/proc/{}/stat", pid));
  if (!text) return {};
  return parse_first_stack_end(*text);
}

size_t thread_count(pid_t pid) {
  struct stat status {};
  // A link for each thread, beside those of the folder and its parent.
  if (::stat(fmt::format("/proc/{}/task", pid).c_str(), &status) != 0 || status.st_nlink < 2) return 0;
  return status.st_nlink - 2;
}

CpuTimes& CpuTimes::operator+=(const CpuTimes& other) {
  user += other.user;
  system += other.system;
  idle += other.idle;
  waiting += other.waiting;
  interrupts += other.interrupts;
  steal += other.steal;
  return *this;
}

std::vector<CpuTime> parse_cpu_times(std::string_view stat, double ticks_a_second) {
  std::vector<CpuTime> found;
  while (!stat.empty()) {
    // cpuN user nice system idle iowait irq softirq steal guest guest_nice; user and nice include guest and guest_nice
    auto line = next_line(stat);
    CpuTime cpu;
    if (!line.starts_with("cpu")) continue;
    line.remove_prefix(3);
    if (!take_number(line, cpu.cpu, 10, ' ')) continue;
    double seconds[8]{};
    for (double& each : seconds) {
      auto word = next_word(line);
      uint64_t ticks = 0;
      if (take_number(word, ticks, 10, 0)) each = static_cast<double>(ticks) / ticks_a_second;
    }
    cpu.times = {.user = seconds[0] + seconds[1],
                 .system = seconds[2],
                 .idle = seconds[3],
                 .waiting = seconds[4],
                 .interrupts = seconds[5] + seconds[6],
                 .steal = seconds[7]};
    found.push_back(cpu);
  }
  return found;
}

std::vector<CpuTime> cpu_times() {
  const auto text = base::read_small_file("/proc/stat");
  if (!text) return {};
  return parse_cpu_times(*text, static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

std::optional<MemoryMap> parse_map_line(std::string_view line) {
  MemoryMap map;
  if (!take_number(line, map.start, 16, '-') || !take_number(line, map.end, 16, ' ')) return {};
  if (line.size() < 5 || map.end <= map.start) return {};
  map.readable = line[0] == 'r';
  map.writable = line[1] == 'w';
  map.executable = line[2] == 'x';
  map.shared = line[3] == 's';
  line.remove_prefix(5);
  if (!take_number(line, map.offset, 16, ' ')) return {};
  if (!take_number(line, map.major, 16, ':') || !take_number(line, map.minor, 16, ' ')) return {};
  if (!take_number(line, map.inode, 10, 0)) return {};
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  map.path = line;
  return map;
}

std::string maps_text(pid_t pid) {
  constexpr size_t kLargest = 256 << 20;
  auto text = base::read_small_file(fmt::format("/proc/{}/maps", pid), kLargest);
  if (text && !text->empty()) return std::move(*text);
  // A process lives on when its first thread has ended, but that thread's memory is not shown any more.
  for (const pid_t tid : threads_of(pid)) {
    text = base::read_small_file(fmt::format("/proc/{}/task/{}/maps", pid, tid), kLargest);
    if (text && !text->empty()) return std::move(*text);
  }
  return {};
}

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  while (!text.empty()) {
    int first = 0;
    if (!take_number(text, first, 10, 0)) return {};
    int last = first;
    if (!text.empty() && text.front() == '-') {
      text.remove_prefix(1);
      if (!take_number(text, last, 10, 0)) return {};
    }
    if (first < 0 || last < first || last > 1 << 16) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (text.empty()) break;
    if (text.front() != ',' || text.size() == 1) return {};
    text.remove_prefix(1);
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  if (cpus.empty()) return {};
  return cpus;
}

std::vector<int> online_cpus() {
  if (auto text = base::read_small_file("/sys/devices/system/cpu/online")) {
    if (auto cpus = parse_cpu_list(*text)) return *std::move(cpus);
  }
  std::vector<int> cpus;
  for (int cpu = 0; cpu < ::sysconf(_SC_NPROCESSORS_ONLN); ++cpu) cpus.push_back(cpu);
  return cpus;
}

std::string online_cpu_list() {
  auto text = base::read_small_file("/sys/devices/system/cpu/online");
  if (!text) return fmt::format("0-{}", ::sysconf(_SC_NPROCESSORS_ONLN) - 1);
  while (!text->empty() && text->back() == '\n') text->pop_back();
  return *std::move(text);
}

size_t present_cpu_count() {
  if (auto text = base::read_small_file("/sys/devices/system/cpu/present")) {
    if (auto cpus = parse_cpu_list(*text)) return cpus->size();
  }
  return static_cast<size_t>(::sysconf(_SC_NPROCESSORS_CONF));
}

std::optional<long> sysctl_number(const std::string& name) {
  auto text = base::read_small_file("/proc/sys/" + name);
  if (!text) return {};
  long value = 0;
  std::string_view rest = *text;
  if (!take_number(rest, value, 10, 0)) return {};
  return value;
}

uint64_t max_sample_rate() {
  return static_cast<uint64_t>(std::max(1L, sysctl_number("kernel/perf_event_max_sample_rate").value_or(100'000)));
}

std::optional<KernelText> kernel_text() {
  const uint64_t start = kernel_symbol("_text");
  if (start == 0) return {};
  if (const uint64_t size = kernel_code_size(); size != 0) return KernelText{start, size};
  const uint64_t end = kernel_symbol("_etext");
  if (end <= start) return {};
  return KernelText{start, end - start};
}

std::vector<KernelModule> kernel_modules() {
  std::vector<KernelModule> modules;
  const auto text = base::read_small_file("/proc/modules");
  if (!text) return modules;
  for (std::string_view rest = *text; !rest.empty();) {
    // name size references users state address
    auto line = next_line(rest);
    KernelModule module;
    module.name = next_word(line);
    auto size = next_word(line);
    take_number(size, module.size, 10, 0);
    for (int skipped = 0; skipped < 3; ++skipped) next_word(line);
    auto address = next_word(line);
    if (address.starts_with("0x")) address.remove_prefix(2);
    take_number(address, module.start, 16, 0);
    if (module.start != 0 && module.size != 0) modules.push_back(std::move(module));
  }
  return modules;
}

}  // namespace tephra::kernel
