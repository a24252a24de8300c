#include "walked_process.h"

#include <errno.h>
#include <execinfo.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <sstream>

#include "abi/walk_end.h"
#include "kernel/perf_event.h"
#include "kernel/procfs.h"
#include "libdw_rows.h"

namespace tephra::walk {

Child::Child(const std::function<void(OwnStack&)>& work) {
  void* memory = ::mmap(nullptr, sizeof(OwnStack), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  stack_ = new (memory) OwnStack{};
  std::fflush(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::alarm(120);
    work(*stack_);
    ::_exit(0);
  }
}

Child::~Child() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  ::munmap(stack_, sizeof(OwnStack));
}

void Child::wait_until_ready() const {
  while (stack_->ready == 0 && ::waitpid(pid_, nullptr, WNOHANG) == 0) ::usleep(1000);
}

__attribute__((noinline)) void note_stack(OwnStack& stack) {
  void* frames[OwnStack::kMost];
  const int count = ::backtrace(frames, OwnStack::kMost);
  // The first are our own, and under a sanitizer those of its backtrace().
  int first = 0;
  while (first < count && frames[first] != __builtin_return_address(0)) ++first;
  std::copy(frames + first, frames + count, stack.frames);
  stack.count = count - first;
  stack.tid = static_cast<int>(::syscall(SYS_gettid));
}

namespace {

// Made once for all tests, each of which has a program in the kernel of its own: no file is written while they run.
const Rows& rows_of(const std::string& path) {
  static std::map<std::string, Rows> made;
  const auto found = made.find(path);
  if (found != made.end()) return found->second;
  return made.emplace(path, path == "[vdso]" ? rows_of_vdso() : rows_of_file(path)).first->second;
}

}  // namespace

base::Result<uint32_t> Teller::table_of(const std::string& path) {
  const auto known = tables_.find(path);
  if (known != tables_.end()) return known->second;
  const Rows& rows = rows_of(path);
  uint32_t table = 0;
  if (!rows.blocks.empty()) {
    TEPHRA_TRY(table, program_.add_table(rows.blocks, rows.rules));
  }
  tables_[path] = table;
  return table;
}

base::Status Teller::tell(pid_t pid) { return tell(pid, SIZE_MAX, SIZE_MAX); }
base::Status Teller::tell_first_mapping(pid_t pid) { return tell(pid, 1, 1); }
base::Status Teller::tell_without_room(pid_t pid) { return tell(pid, SIZE_MAX, 1); }

base::Status Teller::tell(pid_t pid, size_t most, size_t with_rows) {
  last_.clear();
  std::istringstream lines(kernel::maps_text(pid));
  for (std::string line; std::getline(lines, line);) {
    const auto map = kernel::parse_map_line(line);
    if (!map || !map->executable) continue;
    tephra_walk_mapping mapping{.start = map->start, .end = map->end, .file_offset = map->offset};
    if (last_.size() >= with_rows) {
      mapping.flags = TEPHRA_MAPPING_NO_ROOM;
    } else if (map->path.starts_with('/') || map->path == "[vdso]") {
      TEPHRA_TRY(mapping.table, table_of(std::string(map->path)));
    } else {
      mapping.flags = TEPHRA_MAPPING_GENERATED;
    }
    if (map->path != "[vsyscall]") last_.push_back(mapping);
  }
  last_.resize(std::min(last_.size(), most));
  const auto stat = base::read_small_file("/proc/" + std::to_string(pid) + "/stat");
  if (!stat.ok()) return stat.error();
  std::istringstream fields(stat->substr(stat->rfind(')') + 2));
  std::vector<std::string> words;
  for (std::string word; fields >> word;) words.push_back(word);
  // Fields are counted from 1, and the first two are before the parenthesis.
  return program_.set_process(pid, std::stoull(words.at(28 - 3)), std::stoull(words.at(26 - 3)), last_);
}

int Sample::end() const { return (misc & TEPHRA_WALK_END_MASK) >> TEPHRA_WALK_END_SHIFT; }
bool Sample::caller_guessed() const { return (misc >> TEPHRA_WALK_END_SHIFT & TEPHRA_WALK_GUESSED) != 0; }

namespace {

void read_chain(base::ByteReader& reader, Sample& sample) {
  const uint64_t count = reader.u64();
  std::vector<uint64_t>* part = nullptr;
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    const uint64_t word = reader.u64();
    if (word == static_cast<uint64_t>(PERF_CONTEXT_KERNEL)) {
      part = &sample.kernel;
      sample.has_kernel_mark = true;
    } else if (word == static_cast<uint64_t>(PERF_CONTEXT_USER)) {
      part = &sample.user;
      sample.has_user_mark = true;
    } else if (part != nullptr) {
      part->push_back(word);
    }
  }
}

}  // namespace

std::vector<Sample> parse_samples(base::Bytes bytes, bool with_address, bool with_period) {
  std::vector<Sample> samples;
  while (bytes.size() >= sizeof(perf_event_header)) {
    const auto header = base::load<perf_event_header>(bytes.data());
    if (header.size < sizeof header || header.size > bytes.size()) std::abort();
    base::ByteReader reader(bytes.subspan(sizeof header, header.size - sizeof header));
    bytes = bytes.subspan(header.size);
    if (header.type != PERF_RECORD_SAMPLE) continue;
    Sample& sample = samples.emplace_back();
    sample.misc = header.misc;
    sample.identifier = reader.u64();
    sample.ip = reader.u64();
    sample.pid = static_cast<pid_t>(reader.u32());
    sample.tid = static_cast<pid_t>(reader.u32());
    sample.time = reader.u64();
    if (with_address) sample.address = reader.u64();
    sample.cpu = reader.u32();
    reader.u32();
    if (with_period) sample.period = reader.u64();
    read_chain(reader, sample);
    sample.register_abi = reader.u64();
    if (sample.register_abi != 0) reader.skip(3 * 8);
    const uint64_t copied = reader.u64();
    reader.skip(copied);
    if (copied != 0) sample.stack_bytes = reader.u64();
    if (!reader.ok() || !reader.at_end()) std::abort();
  }
  return samples;
}

Sampler::Sampler(pid_t pid, const Options& options) : options_(options) {
  perf_event_attr attr = kernel::empty_attr();
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = options.config;
  attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                     PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
                     options.extra_sample_type;
  if (options.address) attr.sample_type |= PERF_SAMPLE_ADDR;
  attr.sample_regs_user = 1 << 6 | 1 << 7 | 1 << 8;  // bp, sp, ip of x86-64
  attr.sample_stack_user = options.stack_copy;
  attr.exclude_callchain_user = 1;
  attr.disabled = 1;
  attr.inherit = options.inherit;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  if (options.period != 0) {
    attr.sample_period = options.period;
  } else {
    attr.freq = 1;
    attr.sample_freq = options.frequency;
  }
  // An event that is inherited has a ring only where it is of one CPU.
  const int cpu = options.inherit ? kernel::online_cpus().front() : -1;
  event_ = kernel::open_event(attr, kernel::EventScope::task(pid, cpu));
  if (event_ && !ring_.map(event_.get(), 1 << 20)) event_.reset();
}

void Sampler::enable() const { kernel::enable_event(event_.get()); }
void Sampler::disable() const { kernel::disable_event(event_.get()); }

std::vector<Sample> Sampler::raw() {
  const auto pending = ring_.pending();
  std::vector<std::byte> bytes(pending.size());
  pending.copy(0, bytes.data(), bytes.size());
  ring_.release(pending.head);
  return parse_samples(bytes, options_.address);
}

Taken take(kernel::StackProgram& program, bool with_address) {
  Taken taken;
  program.consume(
      [&](base::Bytes bytes) {
        for (auto& sample : parse_samples(bytes, with_address)) taken.samples.push_back(std::move(sample));
      },
      [&](const tephra_walk_wanted& wanted) { taken.wanted.push_back(wanted); });
  return taken;
}

Taken take_until(kernel::StackProgram& program, size_t samples) {
  Taken all;
  for (int i = 0; i < 2000 && all.samples.size() < samples; ++i) {
    ::usleep(10'000);
    Taken some = take(program);
    for (auto& sample : some.samples) all.samples.push_back(std::move(sample));
    all.wanted.insert(all.wanted.end(), some.wanted.begin(), some.wanted.end());
  }
  return all;
}

}  // namespace tephra::walk
