#include "views/sched_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "views/printable.h"

namespace tephra::views {
namespace {

using analysis::SchedLatency;
using analysis::SchedThread;
using analysis::TimelineEntry;
using analysis::TimelineTask;

constexpr size_t kNameColumns = 24;
constexpr size_t kShownPerThread = 12;  // rows of each list about one thread
constexpr size_t kShownWaiting = 5;

double milliseconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

// Seconds with microseconds, cut as perf does.
std::string seconds(uint64_t nanoseconds) {
  return fmt::format("{}.{:06}", nanoseconds / 1'000'000'000, nanoseconds / 1000 % 1'000'000);
}

std::string padded(std::string text, size_t width) {
  const size_t has = columns(text);
  return has < width ? text + std::string(width - has, ' ') : text;
}

std::string right(std::string text, size_t width) {
  const size_t has = columns(text);
  return has < width ? std::string(width - has, ' ') + text : text;
}

std::string thread_name(const SchedThread& thread, bool merged) {
  if (merged && thread.threads > 1) return fmt::format("{}:({})", printable(thread.comm), thread.threads);
  return fmt::format("{}:{}", printable(thread.comm), thread.tid);
}

std::string named(const SchedLatency& latency, int32_t tid) {
  if (tid == 0) return "[idle]";
  const auto found = latency.names.find(tid);
  return fmt::format("{}:{}", found == latency.names.end() ? "" : printable(found->second), tid);
}

// Who cost the row's threads the most.
std::string main_preemptor(const SchedLatency& latency, const SchedThread& row) {
  if (row.preemptors.empty()) return "";
  const auto& most = *std::max_element(row.preemptors.begin(), row.preemptors.end(),
                                       [](const auto& a, const auto& b) { return a.waited < b.waited; });
  return named(latency, most.tid);
}

std::string latency_row(const SchedLatency& latency, const SchedThread& row, bool merged) {
  const std::string worst_at = row.delays.worst == 0 ? "-" : seconds(row.delays.worst_from);
  std::string line = fmt::format(
      "  {} {:>11.3f} {:>8} {:>9.3f} {:>9.3f} {:>9.3f} {:>16} {:>9}", padded(thread_name(row, merged), kNameColumns),
      milliseconds(row.whole_run()), row.delays.count(), milliseconds(row.delays.average()),
      milliseconds(row.delays.quantile(0.99)), milliseconds(row.delays.worst), worst_at, row.preempted);
  if (latency.interrupts_recorded) line += fmt::format(" {:>9.3f}", milliseconds(row.interrupted()));
  line += fmt::format(" {:>5}  {}", row.migrations, main_preemptor(latency, row));
  while (line.back() == ' ') line.pop_back();
  return line + '\n';
}

std::string latency_header(const SchedLatency& latency) {
  std::string first = fmt::format("  {:<24} {:>11} {:>8} {:>9} {:>9} {:>9} {:>16} {:>9}", "thread", "run time", "waits",
                                  "avg delay", "p99 delay", "max delay", "max began at", "preempted");
  std::string second = fmt::format("  {:<24} {:>11} {:>8} {:>9} {:>9} {:>9} {:>16} {:>9}", "", "(ms)", "", "(ms)",
                                   "(ms)", "(ms)", "(s)", "(times)");
  if (latency.interrupts_recorded) {
    first += fmt::format(" {:>9}", "interrupt");
    second += fmt::format(" {:>9}", "(ms)");
  }
  first += fmt::format(" {:>5}  {}\n", "moved", "mostly by");
  second += fmt::format(" {:>5}\n", "");
  while (second.size() > 1 && second[second.size() - 2] == ' ') second.erase(second.size() - 2, 1);
  return first + second;
}

std::string waiting_notes(const SchedLatency& latency) {
  std::vector<const SchedThread*> waiting;
  for (const SchedThread& thread : latency.threads) {
    if (thread.waiting_since) waiting.push_back(&thread);
  }
  std::sort(waiting.begin(), waiting.end(),
            [](const auto* a, const auto* b) { return *a->waiting_since < *b->waiting_since; });
  std::string text;
  for (size_t at = 0; at < std::min(waiting.size(), kShownWaiting); ++at) {
    text += fmt::format("{} still waited for a CPU at the end, for {:.3f} ms, which is in no delay above\n",
                        thread_name(*waiting[at], false), milliseconds(latency.end - *waiting[at]->waiting_since));
  }
  if (waiting.size() > kShownWaiting) text += fmt::format("… and {} more\n", waiting.size() - kShownWaiting);
  return text;
}

uint64_t sum(const std::vector<SchedThread>& threads, uint64_t SchedThread::*value) {
  uint64_t total = 0;
  for (const SchedThread& thread : threads) total += thread.*value;
  return total;
}

std::string notes(const SchedLatency& latency) {
  std::string text = waiting_notes(latency);
  if (!latency.wakeups_recorded) {
    text += "no sched_wakeup was recorded: delays are those of threads that lost their CPU alone\n";
  }
  text += lost_note(latency.lost);
  if (const uint64_t unknown = sum(latency.threads, &SchedThread::unknown_delays)) {
    text += fmt::format("not counted: {} during which records are missing\n", base::counted(unknown, "delay"));
  }
  if (latency.unknown_runs > 0) {
    text +=
        fmt::format("not counted: {} whose beginning was not recorded\n", base::counted(latency.unknown_runs, "run"));
  }
  if (latency.unknown_runs > latency.switches / 2) {
    text += "most switches do not fit together: a recording of single processes misses those of the others (use -a)\n";
  }
  if (latency.steal_share && *latency.steal_share >= 0.001) {
    text += fmt::format("the hypervisor took {:.1f} % of CPU time meanwhile (steal); threads seem to run then\n",
                        100 * *latency.steal_share);
  }
  return text;
}

std::string window_line(const SchedLatency& latency) {
  const uint64_t window = latency.end - latency.begin;
  const double capacity = static_cast<double>(window) * static_cast<double>(std::max<uint64_t>(latency.cpus, 1));
  const double idle = capacity > 0 ? 100 * static_cast<double>(latency.idle) / capacity : 0;
  return fmt::format("{:.3f} s on {}, {:.1f} % idle, {}, delays counted from {}\n", static_cast<double>(window) / 1e9,
                     base::counted(latency.cpus, "CPU"), idle,
                     base::with_separators(latency.switches) + (latency.switches == 1 ? " switch" : " switches"),
                     latency.from_waking ? "sched_waking" : "sched_wakeup");
}

const char* kind_name(stream::InterruptKind kind) {
  switch (kind) {
    case stream::InterruptKind::kSoft:
      return "softirq";
    case stream::InterruptKind::kVector:
      return "vector";
    case stream::InterruptKind::kHard:
      return "irq";
  }
  return "";
}

template <class Rows, class Line>
void append_list(std::string& out, const Rows& rows, const char* title, Line line) {
  if (rows.empty()) return;
  out += title;
  for (size_t at = 0; at < std::min(rows.size(), kShownPerThread); ++at) out += line(rows[at]);
  if (rows.size() > kShownPerThread) out += fmt::format("    … and {} more\n", rows.size() - kShownPerThread);
}

std::string who_of(const SchedLatency& latency, const SchedThread& thread) {
  const analysis::RunQueueDelays& delays = thread.delays;
  std::string out = thread_name(thread, false);
  if (thread.pid >= 0 && thread.pid != thread.tid) out += fmt::format(" of process {}", thread.pid);
  out += fmt::format("\n  ran {:.3f} ms in {}, moved to another CPU {}\n", milliseconds(thread.whole_run()),
                     base::counted(thread.runs, "run"), base::counted(thread.migrations, "time"));
  out += fmt::format("  waited {:.3f} ms for a CPU, {}: {} after a wake-up, {} after it was preempted ({:.3f} ms)\n",
                     milliseconds(delays.total), base::counted(delays.count(), "time"), thread.woken,
                     delays.count() - thread.woken, milliseconds(thread.preempted_waited));
  if (delays.count() > 0) {
    out += fmt::format("  delay: average {:.3f} ms, p99 {:.3f} ms, worst {:.3f} ms from {} to {} s\n",
                       milliseconds(delays.average()), milliseconds(delays.quantile(0.99)), milliseconds(delays.worst),
                       seconds(delays.worst_from), seconds(delays.worst_to));
  }
  append_list(out, thread.preemptors, "  preempted by                   times   waited until it ran again (ms)\n",
              [&](const analysis::Preemptor& row) {
                return fmt::format("    {} {:>7} {:>12.3f}\n", padded(named(latency, row.tid), 26), row.times,
                                   milliseconds(row.waited));
              });
  append_list(out, thread.ran_instead, "  ran while it waited             runs   time (ms)\n",
              [&](const analysis::RanInstead& row) {
                return fmt::format("    {} {:>7} {:>12.3f}\n", padded(named(latency, row.tid), 26), row.times,
                                   milliseconds(row.waited));
              });
  append_list(out, thread.interrupts, "  interrupts while it ran        times   time (ms)   worst (ms)\n",
              [&](const analysis::InterruptTime& row) {
                const std::string name = fmt::format("{} {} {}", kind_name(row.kind), row.number, printable(row.name));
                return fmt::format("    {} {:>7} {:>12.3f} {:>12.3f}\n", padded(name, 26), row.times,
                                   milliseconds(row.total), milliseconds(row.worst));
              });
  if (!latency.interrupts_recorded) out += "  interrupts were not recorded\n";
  if (thread.waits_not_followed > 0) {
    out += fmt::format("  who ran instead was not followed for {}: too many threads waited at once\n",
                       base::counted(thread.waits_not_followed, "wait"));
  }
  return out;
}

// perf's: milliseconds, cut.
std::string cut_milliseconds(uint64_t nanoseconds, size_t width) {
  return fmt::format("{:>{}}.{:03}", nanoseconds / 1'000'000, width < 4 ? 0 : width - 4, nanoseconds / 1000 % 1000);
}

std::string task_text(const TimelineTask& task) {
  if (task.tid == 0) return "<idle>";
  if (task.pid < 0 || task.pid == task.tid) return fmt::format("{}[{}]", printable(task.comm), task.tid);
  return fmt::format("{}[{}/{}]", printable(task.comm), task.tid, task.pid);
}

std::string state_text(const stream::SchedState& state) {
  return state.preempted ? std::string("R+") : std::string(1, state.letter);
}

std::string known_or_mark(uint64_t nanoseconds, bool known) {
  return known ? cut_milliseconds(nanoseconds, 9) : fmt::format("{:>9}", "?");
}

void append_totals(std::string& out, const analysis::TimelineTotals& row, bool migrations) {
  out += fmt::format("{} {:>7} {:>10} {} {}  {}  {} {:>7.2f}", right(task_text(row.task), 30), row.parent, row.runs,
                     cut_milliseconds(row.total, 12), cut_milliseconds(row.shortest, 10),
                     cut_milliseconds(static_cast<uint64_t>(row.mean), 10), cut_milliseconds(row.longest, 10),
                     row.relative_error());
  if (migrations) out += fmt::format("   {:>9}", row.migrations);
  out += '\n';
}

// As perf names threads on a map: a letter and a digit, from A0 on.
std::string short_name(uint32_t number) {
  constexpr uint32_t kLetters = 26;
  return {static_cast<char>('A' + number % kLetters), static_cast<char>('0' + number / kLetters % 10)};
}

}  // namespace

std::string lost_note(uint64_t lost) {
  if (lost == 0) return "";
  return fmt::format("{} lost: what happened on a CPU meanwhile is not known, and not guessed\n",
                     base::counted(lost, "record") + (lost == 1 ? " was" : " were"));
}

std::string sched_latency_text(const SchedLatency& latency, const std::vector<SchedThread>& rows, bool merged) {
  std::string out = window_line(latency);
  out += merged ? "threads of one name are one row; -p shows each\n\n" : "each thread is a row\n\n";
  out += latency_header(latency);
  uint64_t run = 0;
  uint64_t waits = 0;
  for (const SchedThread& row : rows) {
    out += latency_row(latency, row, merged);
    run += row.whole_run();
    waits += row.delays.count();
  }
  out += fmt::format("  {:<24} {:>11.3f} {:>8}\n", "all", milliseconds(run), waits);
  const std::string more = notes(latency);
  return more.empty() ? out : out + '\n' + more;
}

std::string sched_who_text(const SchedLatency& latency) {
  std::string out = window_line(latency);
  for (const SchedThread& thread : latency.threads) out += '\n' + who_of(latency, thread);
  const std::string more = notes(latency);
  return more.empty() ? out : out + '\n' + more;
}

std::string timeline_header(const TimelineTextOptions& options) {
  std::string first = "           time    cpu  task name                       wait time  sch delay   run time";
  std::string second = "                        [tid/pid]                          (msec)     (msec)     (msec)";
  std::string third = "--------------- ------  ------------------------------  ---------  ---------  ---------";
  if (options.state) {
    first += "  state";
    third += "  -----";
  }
  return first + '\n' + second + '\n' + third + '\n';
}

void append_timeline_entry(std::string& out, const TimelineEntry& entry, const TimelineTextOptions& options) {
  if (entry.kind == TimelineEntry::Kind::kWakeup && !options.wakeups) return;
  if (entry.kind == TimelineEntry::Kind::kMigration && !options.migrations) return;
  out += fmt::format("{:>15} [{:04}]  {}  ", seconds(entry.time), entry.cpu, padded(task_text(entry.task), 30));
  if (entry.kind == TimelineEntry::Kind::kSwitch) {
    out += fmt::format("{}  {}  {}", known_or_mark(entry.wait, entry.wait_known),
                       known_or_mark(entry.delay, entry.wait_known), known_or_mark(entry.run, entry.run_known));
    if (options.state) out += fmt::format("  {:>5}", state_text(entry.state));
    if (options.next) out += "  next: " + task_text(entry.other);
  } else {
    out.append(options.state ? 40 : 33, ' ');
    out += entry.kind == TimelineEntry::Kind::kWakeup ? "awakened: " : "migrated: ";
    out += task_text(entry.other);
    if (entry.kind == TimelineEntry::Kind::kMigration)
      out += fmt::format(" cpu {} => {}", entry.from_cpu, entry.to_cpu);
  }
  out += '\n';
}

std::string timeline_summary(const analysis::Timeline& timeline, bool migrations) {
  std::string out = "\nRuntime summary\n";
  out += "                          comm  parent   sched-in     run-time    min-run     avg-run     max-run  stddev";
  out += migrations ? "  migrations\n" : "\n";
  out += "                                          (count)       (msec)     (msec)      (msec)      (msec)       %\n";
  out += std::string(migrations ? 117 : 105, '-') + '\n';
  uint64_t run = 0;
  for (const bool ended : {false, true}) {
    const bool any = std::any_of(timeline.threads.begin(), timeline.threads.end(),
                                 [&](const auto& thread) { return thread.ended == ended; });
    if (ended && any) out += "\nTerminated tasks:\n";
    for (const analysis::TimelineTotals& thread : timeline.threads) {
      if (thread.ended != ended) continue;
      append_totals(out, thread, migrations);
      run += thread.total;
    }
  }
  const uint64_t window = timeline.end - timeline.begin;
  out += "\nIdle stats:\n";
  for (const auto& [cpu, idle] : timeline.idle) {
    out += fmt::format("    CPU {:>2} idle for {}  msec  ({:>6.2f}%)\n", cpu, cut_milliseconds(idle, 10),
                       window == 0 ? 0.0 : 100 * static_cast<double>(idle) / static_cast<double>(window));
  }
  out += fmt::format("\n    Total number of unique tasks: {}\nTotal number of context switches: {}\n",
                     timeline.threads.size(), timeline.switches);
  out += fmt::format("           Total run time (msec): {}\n    Total scheduling time (msec): {} (x {})\n",
                     cut_milliseconds(run, 0), cut_milliseconds(window, 0), timeline.idle.size());
  return out;
}

void append_map_step(std::string& out, const analysis::MapStep& step, bool color) {
  using Kind = analysis::MapCell::Kind;
  constexpr uint32_t kFirstColor = 31;
  constexpr uint32_t kColors = 6;
  out += "  ";
  for (size_t column = 0; column < step.cells.size(); ++column) {
    const analysis::MapCell& cell = step.cells[column];
    out += column == step.column ? '*' : ' ';
    const std::string name = cell.kind == Kind::kRuns   ? short_name(cell.number)
                             : cell.kind == Kind::kIdle ? ". "
                                                        : "  ";
    if (color && cell.kind == Kind::kRuns) {
      out += fmt::format("\x1b[{}m{}\x1b[0m ", kFirstColor + cell.number % kColors, name);
    } else {
      out += name + " ";
    }
  }
  out += fmt::format(" {:>12} secs", seconds(step.time));
  const analysis::MapCell& now = step.cells[step.column];
  if (step.first) out += fmt::format(" {} => {}:{}", short_name(now.number), printable(step.comm), now.tid);
  out += '\n';
}

}  // namespace tephra::views
