#include "collect/generated_tables.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "unwind/generated_code.h"

namespace tephra::collect {
namespace {

constexpr size_t kMostRemembered = 500'000;
// Memory is mapped before code is written into it, and is then mostly told again as it is made executable.
constexpr unsigned kMostLooks = 4;

ProcessCode marks_of(pid_t pid, pid_t tid) {
  ProcessCode marks;
  const auto stat = base::read_small_file(fmt::format("/proc/{}/task/{}/stat", pid, tid), 4096);
  if (!stat || !parse_program_marks(*stat, marks)) return {};
  return marks;
}

}  // namespace

// The list begins anew where addresses do not ascend. It may be that of another program by now.
GeneratedTables::Process& GeneratedTables::enter(pid_t pid, pid_t tid, uint64_t address) {
  if (remembered_ > kMostRemembered) {
    processes_.clear();
    remembered_ = 0;
    last_ = 0;
  }
  Process& process = processes_[pid];
  if (pid != last_ || address <= process.last_asked) {
    memory_.reset(::open(fmt::format("/proc/{}/mem", tid).c_str(), O_RDONLY | O_CLOEXEC));
    const ProcessCode marks = marks_of(pid, tid);
    if (marks != process.marks) {
      remembered_ -= process.seen.size();
      process.seen.clear();
    }
    process.marks = marks;
    last_ = pid;
  }
  process.last_asked = address;
  return process;
}

const unwind::FrameTable* GeneratedTables::look(const CodeMapping& mapping) {
  ++looks_;
  std::array<std::byte, unwind::kGeneratedCodeBytes> bytes{};
  const size_t wanted = std::min<uint64_t>(bytes.size(), mapping.end - mapping.start);
  const ssize_t got = memory_ ? ::pread(memory_.get(), bytes.data(), wanted, static_cast<off_t>(mapping.start)) : -1;
  return got <= 0 ? nullptr : unwind::generated_code_table(base::Bytes(bytes).first(static_cast<size_t>(got)));
}

const unwind::FrameTable* GeneratedTables::find(pid_t pid, pid_t tid, const CodeMapping& mapping) {
  Process& process = enter(pid, tid, mapping.start);
  const auto [place, first] = process.seen.try_emplace(mapping.start);
  Seen& seen = place->second;
  if (first) ++remembered_;
  if (seen.end != mapping.end) seen = {mapping.end, nullptr, 0};
  if (seen.table == nullptr && seen.looks < kMostLooks) {
    seen.table = look(mapping);
    ++seen.looks;
  }
  return seen.table;
}

}  // namespace tephra::collect
