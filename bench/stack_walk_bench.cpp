// What a sample costs that is walked inside the kernel, by the kernel's own count of the time in the program, and what
// one costs with frame pointers and with a copy of the stack, by how much longer fixed work takes.
//
//     stack_walk_bench                  recursion of 20 and 40 frames without frame pointers
//     stack_walk_bench COMMAND…         samples a program and its children at 999 Hz (a compiler, for example)
//
// Needs root.
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "abi/walk_end.h"
#include "base/disk_cache.h"
#include "base/file.h"
#include "kernel/perf_event.h"
#include "kernel/procfs.h"
#include "kernel/ring_buffer.h"
#include "kernel/stack_program.h"
#include "symbols/file_finder.h"
#include "unwind/table_store.h"

namespace {

using namespace tephra;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Turns the kernel's counting of time in programs on, for as long as it lives.
class ProgramTimes {
 public:
  ProgramTimes() : before_(kernel::sysctl_number("kernel/bpf_stats_enabled").value_or(0)) { set(1); }
  ~ProgramTimes() { set(before_); }

 private:
  static void set(long value) { std::ofstream("/proc/sys/kernel/bpf_stats_enabled") << value; }
  long before_;
};

// Gives the mappings of processes to a program.
class Teller {
 public:
  explicit Teller(kernel::StackProgram& program) : program_(program) {}

  void tell(pid_t pid) {
    const auto begin = Clock::now();
    std::vector<tephra_walk_mapping> mappings;
    std::istringstream lines(kernel::maps_text(pid));
    for (std::string line; std::getline(lines, line);) {
      const auto map = kernel::parse_map_line(line);
      if (!map || !map->executable || map->path == "[vsyscall]") continue;
      mappings.push_back({map->start, map->end, map->offset, table_of(std::string(map->path)), 0});
    }
    const auto stat = base::read_small_file("/proc/" + std::to_string(pid) + "/stat");
    if (!stat.ok()) return;
    std::istringstream fields(stat->substr(stat->rfind(')') + 2));
    std::vector<std::string> words;
    for (std::string word; fields >> word;) words.push_back(word);
    if (words.size() < 26) return;
    (void)program_.set_process(pid, std::stoull(words[25]), std::stoull(words[23]), mappings);
    seconds_ += seconds_since(begin);
  }
  double seconds() const { return seconds_; }
  double adding() const { return adding_; }
  uint64_t rows() const { return store_.totals().rows; }

 private:
  uint32_t table_of(const std::string& path) {
    const auto known = tables_.find(path);
    if (known != tables_.end()) return known->second;
    const unwind::FrameTable* table = nullptr;
    if (path == "[vdso]") {
      table = store_.find_vdso({});
    } else if (path.starts_with('/')) {
      table = store_.find({.path = path});
    }
    uint32_t number = 0;
    if (table != nullptr && !table->empty()) {
      const auto begin = Clock::now();
      const auto added = program_.add_table(table->blocks, table->rules);
      adding_ += seconds_since(begin);
      if (added.ok()) number = *added;
    }
    tables_[path] = number;
    return number;
  }

  kernel::StackProgram& program_;
  symbols::FileFinder finder_;
  base::DiskCache cache_ = base::DiskCache::of_user();
  unwind::TableStore store_{finder_, cache_};
  std::map<std::string, uint32_t> tables_;
  double seconds_ = 0;
  double adding_ = 0;
};

enum class Way { kNone, kFramePointers, kCopy, kWalk };

perf_event_attr attr_of(Way way, uint64_t frequency, bool inherit) {
  perf_event_attr attr = kernel::empty_attr();
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.freq = 1;
  attr.sample_freq = frequency;
  attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                     PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;
  if (way != Way::kFramePointers) {
    attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attr.sample_regs_user = 0xff0fff;  // as perf asks for
    attr.sample_stack_user = 8192;
    attr.exclude_callchain_user = 1;
  }
  attr.disabled = 1;
  attr.inherit = inherit;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  return attr;
}

struct Seen {
  uint64_t samples = 0;
  uint64_t frames = 0;  // of user code
  uint64_t complete = 0;
  uint64_t bytes = 0;
};

void look_at(base::Bytes bytes, Seen& seen) {
  while (bytes.size() >= sizeof(perf_event_header)) {
    const auto header = base::load<perf_event_header>(bytes.data());
    base::ByteReader reader(bytes.first(header.size));
    reader.skip(7 * 8);
    const uint64_t words = reader.u64();
    bool user = false;
    for (uint64_t i = 0; i < words; ++i) {
      const uint64_t word = reader.u64();
      if (user) ++seen.frames;
      if (word == static_cast<uint64_t>(PERF_CONTEXT_USER)) user = true;
    }
    ++seen.samples;
    if ((header.misc & TEPHRA_WALK_END_MASK) == TEPHRA_WALK_OUTERMOST << TEPHRA_WALK_END_SHIFT) ++seen.complete;
    seen.bytes += header.size;
    bytes = bytes.subspan(header.size);
  }
}

uint64_t drain(kernel::RingBuffer& ring) {
  const auto pending = ring.pending();
  uint64_t samples = 0;
  for (size_t at = 0; at < pending.size();) {
    const size_t size = pending.record_size(at);
    if (size == 0) break;
    if (static_cast<uint32_t>(pending.word(at)) == PERF_RECORD_SAMPLE) ++samples;
    at += size;
  }
  ring.release(pending.head);
  return samples;
}

__attribute__((noinline, optimize("omit-frame-pointer"))) uint64_t descend(int depth, uint64_t rounds) {
  volatile char room[40];
  room[depth % 40] = 1;
  if (depth > 0) return descend(depth - 1, rounds) + static_cast<uint64_t>(room[depth % 40]);
  uint64_t x = rounds;
  for (uint64_t i = 0; i < rounds; ++i) x = x * 6364136223846793005u + (x >> 7);
  return x;
}

struct Outcome {
  double cpu_seconds = 0;
  uint64_t samples = 0;
  double frames = 0;
  double program_ns = 0;  // a sample, in the program
  uint64_t bytes = 0;
};

// Runs the recursion with fixed work in a child, sampled in one of the ways.
Outcome run_recursion(Way way, int depth, uint64_t rounds, uint64_t frequency) {
  int gate[2];
  if (::pipe(gate) != 0) std::abort();
  const pid_t child = ::fork();
  if (child == 0) {
    char byte;
    if (::read(gate[0], &byte, 1) != 1) ::_exit(1);
    ::_exit(descend(depth, rounds) == 42);
  }
  std::unique_ptr<kernel::StackProgram> program;
  base::FileDescriptor event;
  kernel::RingBuffer ring;
  if (way != Way::kNone) {
    event = kernel::open_event(attr_of(way, frequency, false), kernel::EventScope::task(child, -1));
    if (!event || !ring.map(event.get(), 8 << 20)) std::abort();
  }
  if (way == Way::kWalk) {
    auto loaded = kernel::StackProgram::load({});
    if (!loaded.ok()) {
      fmt::print(stderr, "{}\n", loaded.error().message());
      std::exit(1);
    }
    program = std::move(loaded).value();
    if (!program->attach(event.get(), 1, false).ok()) std::abort();
    Teller(*program).tell(child);
  }
  if (event) kernel::enable_event(event.get());
  if (::write(gate[1], "x", 1) != 1) std::abort();
  Outcome outcome;
  Seen seen;
  int status = 0;
  rusage usage{};
  while (::wait4(child, &status, WNOHANG, &usage) == 0) {
    ::usleep(20'000);
    if (event) outcome.samples += drain(ring);
    if (program) program->consume([&](base::Bytes bytes) { look_at(bytes, seen); }, [](const auto&) {});
  }
  ::close(gate[0]);
  ::close(gate[1]);
  if (event) outcome.samples += drain(ring);
  outcome.cpu_seconds = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                        1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  if (program) {
    const auto totals = program->totals();
    outcome.samples = seen.samples;
    outcome.bytes = seen.bytes;
    outcome.frames = static_cast<double>(seen.frames) / static_cast<double>(std::max<uint64_t>(seen.samples, 1));
    outcome.program_ns = static_cast<double>(totals.run_ns) / static_cast<double>(std::max<uint64_t>(totals.runs, 1));
  }
  return outcome;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void recursion(int depth) {
  constexpr uint64_t kRounds = 400'000'000;
  constexpr uint64_t kFrequency = 10'000;
  constexpr std::pair<Way, const char*> kWays[] = {
      {Way::kFramePointers, "frame pointers (perf)"}, {Way::kCopy, "8 KB copies (perf)"}, {Way::kWalk, "walked"}};
  std::map<Way, std::vector<double>> cost;
  std::map<Way, Outcome> last;
  for (int round = 0; round < 5; ++round) {
    const double plain = run_recursion(Way::kNone, depth, kRounds, 0).cpu_seconds;
    for (const auto& [way, name] : kWays) {
      last[way] = run_recursion(way, depth, kRounds, kFrequency);
      cost[way].push_back((last[way].cpu_seconds - plain) * 1e6 /
                          static_cast<double>(std::max<uint64_t>(last[way].samples, 1)));
    }
  }
  const Outcome& walked = last[Way::kWalk];
  fmt::print("{:.1f} frames: {:.2f} us in the program ({:.0f} bytes a sample)\n", walked.frames,
             walked.program_ns / 1e3, static_cast<double>(walked.bytes) / static_cast<double>(walked.samples));
  for (const auto& [way, name] : kWays) {
    fmt::print("  {:<22} {:6.2f} us a sample longer work, {} samples\n", name, median(cost[way]), last[way].samples);
  }
}

int sample_command(char** words) {
  auto loaded = kernel::StackProgram::load({});
  if (!loaded.ok()) {
    fmt::print(stderr, "{}\n", loaded.error().message());
    return 1;
  }
  auto& program = **loaded;
  Teller teller(program);
  int gate[2];
  if (::pipe(gate) != 0) return 1;
  const pid_t child = ::fork();
  if (child == 0) {
    char byte;
    if (::read(gate[0], &byte, 1) != 1) ::_exit(1);
    ::execvp(words[0], words);
    ::_exit(127);
  }
  std::vector<base::FileDescriptor> events;
  std::vector<kernel::RingBuffer> rings;
  for (const int cpu : kernel::online_cpus()) {
    perf_event_attr attr = attr_of(Way::kWalk, 999, true);
    attr.enable_on_exec = 1;
    events.push_back(kernel::open_event(attr, kernel::EventScope::task(child, cpu)));
    if (!events.back() || !rings.emplace_back().map(events.back().get(), 8 << 20)) return 1;
    if (!program.attach(events.back().get(), 1, false).ok()) return 1;
  }
  if (::write(gate[1], "x", 1) != 1) return 1;
  Seen seen;
  uint64_t left = 0;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    pollfd wait{program.fd(), POLLIN, 0};
    ::poll(&wait, 1, 100);
    program.consume([&](base::Bytes bytes) { look_at(bytes, seen); },
                    [&](const tephra_walk_wanted& wanted) { teller.tell(wanted.pid); });
    for (auto& ring : rings) left += drain(ring);
  }
  const auto totals = program.totals();
  fmt::print(
      "{} samples, {:.2f}% complete, {:.1f} frames, {:.2f} us each, {} left to perf, {} lost; {} tables, {} rows, "
      "{:.1f} MB, {:.0f} ms to tell, {:.0f} ms of it to add tables\n",
      seen.samples,
      100.0 * static_cast<double>(seen.complete) / static_cast<double>(std::max<uint64_t>(seen.samples, 1)),
      static_cast<double>(seen.frames) / static_cast<double>(std::max<uint64_t>(seen.samples, 1)),
      static_cast<double>(totals.run_ns) / 1e3 / static_cast<double>(std::max<uint64_t>(totals.runs, 1)), left,
      totals.lost, totals.tables, teller.rows(), static_cast<double>(totals.table_bytes) / 1e6, teller.seconds() * 1e3,
      teller.adding() * 1e3);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const ProgramTimes times;
  if (argc > 1) return sample_command(argv + 1);
  // The frames around the recursion are those of main, its caller's and the start of the program.
  recursion(20 - 6);
  recursion(40 - 6);
}
