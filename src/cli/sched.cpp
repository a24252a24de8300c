#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>

#include "analysis/sched_latency.h"
#include "analysis/sched_map.h"
#include "analysis/sched_timeline.h"
#include "base/file.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/recording.h"
#include "cli/sched_input.h"
#include "cli/sched_record.h"
#include "cli/target_options.h"
#include "views/sched_json.h"
#include "views/sched_text.h"

namespace tephra::cli {
namespace {

base::Error nothing_seen(const std::string& path, bool all) {
  return base::failed("no switches to show", path,
                      all ? "nothing was switched in it" : "no thread was chosen by the filters",
                      all ? "Record for longer." : "Widen --pid, --tid, --comm or --time.");
}

base::Status print(std::string_view text) {
  return base::write_all(STDOUT_FILENO, base::as_bytes(text), "standard output");
}

// Text that comes line by line, written in large pieces until that fails.
class Printer {
 public:
  std::string& text() { return text_; }
  void flush_if_large() {
    if (text_.size() > kPiece) flush();
  }
  base::Status finish() {
    flush();
    return std::move(status_);
  }

 private:
  static constexpr size_t kPiece = 1 << 16;
  void flush() {
    if (status_ && !text_.empty()) status_ = print(text_);
    text_.clear();
  }
  std::string text_;
  base::Status status_;
};

// --- latency ---

struct LatencyFlags {
  SchedReadFlags read;
  std::string sort = "avg,max,switch,runtime";
  bool each = false;
  bool json = false;

  void declare(CLI::App& parser) {
    read.declare(parser);
    read.declare_from(parser);
    parser.add_option("-s,--sort", sort, "the order: avg, max, switch, runtime, pid (avg,max,switch,runtime)")
        ->type_name("KEY[,KEY]");
    parser.add_flag("-p,--pids", each, "each thread in a row of its own; as perf, else those of one name share one");
    parser.add_flag("--json", json, "as JSON, times in nanoseconds");
  }
};

base::Result<std::vector<analysis::SchedSort>> sort_keys(const std::string& list) {
  using analysis::SchedSort;
  std::vector<SchedSort> keys;
  for (const std::string& word : comma_list(list)) {
    if (word == "avg") {
      keys.push_back(SchedSort::kAverage);
    } else if (word == "max") {
      keys.push_back(SchedSort::kWorst);
    } else if (word == "switch") {
      keys.push_back(SchedSort::kSwitches);
    } else if (word == "runtime") {
      keys.push_back(SchedSort::kRunTime);
    } else if (word == "pid" || word == "tid") {
      keys.push_back(SchedSort::kTid);
    } else {
      return base::usage_error("cannot sort by that", word, "", "Write avg, max, switch, runtime or pid.");
    }
  }
  return keys;
}

base::Result<analysis::SchedLatencyOptions> latency_options(const SchedReadFlags& flags) {
  analysis::SchedLatencyOptions options;
  TEPHRA_TRY(options.choice, sched_choice(flags));
  TEPHRA_TRY(const SchedWindow window, sched_window(flags.time));
  options.begin = window.begin;
  options.end = window.end;
  if (flags.from == "wakeup") options.from = analysis::DelayFrom::kWakeup;
  return options;
}

base::Result<int> show_latency(const std::string& path, const LatencyFlags& flags) {
  TEPHRA_TRY(const auto keys, sort_keys(flags.sort));
  TEPHRA_TRY(const auto options, latency_options(flags.read));
  TEPHRA_TRY(const OpenSched input, open_sched(path));
  const analysis::SchedLatency latency = analysis::sched_latency(input.recording, input.events, options);
  if (latency.switches == 0 || latency.threads.empty()) return nothing_seen(path, options.choice.all());
  // Who chose threads wants to see them.
  const bool merged = !flags.each && options.choice.all();
  std::vector<analysis::SchedThread> rows = merged ? analysis::merged_by_name(latency.threads) : latency.threads;
  analysis::sort_threads(rows, keys);
  const auto text =
      flags.json ? views::sched_json(latency, rows, merged) : views::sched_latency_text(latency, rows, merged);
  TEPHRA_CHECK_OK(print(text));
  return kExitDone;
}

base::Result<int> run_latency(std::span<const std::string> arguments) {
  LatencyFlags flags;
  const auto parser = make_parser(
      "sched latency",
      "How long threads that could run waited for a CPU: average, 99th percentile and worst with its time; how\n"
      "long they ran, who preempted them, interrupts and moves between CPUs.\n\n"
      "  tephra sched latency [OPTIONS] [-i FILE]\n",
      "  tephra sched latency                        the table of perf.data, threads of one name in a row\n"
      "  tephra sched latency -p -s max perf.data    each thread, the worst delay first\n"
      "  tephra sched latency --pid 1234 --json      the threads of a process, for programs\n");
  flags.declare(*parser);
  TEPHRA_TRY(const bool go_on, parse(*parser, arguments));
  if (!go_on) return kExitDone;
  return show_latency(flags.read.path_or_default(), flags);
}

// --- who ---

base::Result<int> run_who(std::span<const std::string> arguments) {
  SchedReadFlags flags;
  bool json = false;
  const auto parser = make_parser(
      "sched who",
      "What kept threads from running: who preempted them and for how long, who ran while they waited, and the\n"
      "interrupts that ran while they were on a CPU.\n\n"
      "  tephra sched who -p TID | --pid PID | --comm NAME [-i FILE]\n",
      "  tephra sched who -p 1234                    one thread\n"
      "  tephra sched who --pid 1200 server.data     all threads of a process\n");
  flags.declare(*parser);
  flags.declare_from(*parser);
  joined(parser->add_option("-p", flags.tids, "the threads, as --tid"))->type_name("TID[,TID]");
  parser->add_flag("--json", json, "as JSON, times in nanoseconds");
  TEPHRA_TRY(const bool go_on, parse(*parser, arguments));
  if (!go_on) return kExitDone;
  TEPHRA_TRY(auto options, latency_options(flags));
  if (options.choice.all()) {
    return base::usage_error("sched who needs a thread", "", "", "Name it: -p TID, --pid PID or --comm NAME.");
  }
  options.ran_instead = true;
  const std::string path = flags.path_or_default();
  TEPHRA_TRY(const OpenSched input, open_sched(path));
  const analysis::SchedLatency latency = analysis::sched_latency(input.recording, input.events, options);
  if (latency.threads.empty()) return nothing_seen(path, false);
  TEPHRA_CHECK_OK(print(json ? views::sched_json(latency, latency.threads, false) : views::sched_who_text(latency)));
  return kExitDone;
}

// --- timehist ---

struct TimehistFlags {
  SchedReadFlags read;
  views::TimelineTextOptions text;
  bool summary_alone = false;
  bool summary = false;

  void declare(CLI::App& parser) {
    read.declare(parser);
    read.declare_cpus(parser);
    read.declare_from(parser);
    parser.add_flag("-w,--wakeups", text.wakeups, "also who woke whom");
    parser.add_flag("-M,--migrations", text.migrations, "also who was moved to another CPU");
    parser.add_flag("-n,--next", text.next, "also who came next");
    parser.add_flag("--state", text.state,
                    "also why the thread left: R could run on, R+ preempted in the kernel, S, D …");
    parser.add_flag("-s,--summary", summary_alone, "only the summary");
    parser.add_flag("-S,--with-summary", summary, "the summary below");
  }
};

base::Result<int> run_timehist(std::span<const std::string> arguments) {
  TimehistFlags flags;
  const auto parser = make_parser(
      "sched timehist",
      "Every run of every thread: how long it was off its CPU before, how much of that it could have run, and\n"
      "how long it ran. In the columns of perf sched timehist.\n\n"
      "  tephra sched timehist [OPTIONS] [-i FILE]\n",
      "  tephra sched timehist --state -n --tid 1234    the runs of a thread, why each ended, and who came next\n"
      "  tephra sched timehist -w --time 1701.9,1702    a tenth of a second, with wake-ups\n"
      "  tephra sched timehist -s                       only the sums\n");
  flags.declare(*parser);
  TEPHRA_TRY(const bool go_on, parse(*parser, arguments));
  if (!go_on) return kExitDone;
  analysis::TimelineOptions options;
  TEPHRA_TRY(options.choice, sched_choice(flags.read));
  TEPHRA_TRY(options.cpus, cpu_list(flags.read.cpus));
  TEPHRA_TRY(const SchedWindow window, sched_window(flags.read.time));
  options.begin = window.begin;
  options.end = window.end;
  if (flags.read.from == "wakeup") options.from = analysis::DelayFrom::kWakeup;
  const std::string path = flags.read.path_or_default();
  TEPHRA_TRY(const OpenSched input, open_sched(path));
  Printer printer;
  if (!flags.summary_alone) printer.text() += views::timeline_header(flags.text);
  const analysis::Timeline timeline =
      analysis::sched_timeline(input.recording, input.events, options, [&](const analysis::TimelineEntry& entry) {
        if (flags.summary_alone) return;
        views::append_timeline_entry(printer.text(), entry, flags.text);
        printer.flush_if_large();
      });
  if (timeline.switches == 0) return nothing_seen(path, options.choice.all());
  if (flags.summary_alone || flags.summary) printer.text() += views::timeline_summary(timeline, true);
  TEPHRA_CHECK_OK(printer.finish());
  fmt::print(stderr, "{}", views::lost_note(timeline.lost));
  return kExitDone;
}

// --- map ---

bool color_wanted() {
  const char* no_color = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == 0);
}

base::Result<int> run_map(std::span<const std::string> arguments) {
  SchedReadFlags flags;
  const auto parser = make_parser(
      "sched map",
      "Who ran on which CPU over time, a column for each CPU, as perf sched map: * marks the CPU that changed, . is\n"
      "idle, and each thread has a short name, which is told when it first runs.\n\n"
      "  tephra sched map [OPTIONS] [-i FILE]\n",
      "  tephra sched map | less -R\n"
      "  tephra sched map --comm server,client\n");
  flags.declare(*parser);
  flags.declare_cpus(*parser);
  TEPHRA_TRY(const bool go_on, parse(*parser, arguments));
  if (!go_on) return kExitDone;
  analysis::MapOptions options;
  TEPHRA_TRY(options.choice, sched_choice(flags));
  TEPHRA_TRY(options.cpus, cpu_list(flags.cpus));
  TEPHRA_TRY(const SchedWindow window, sched_window(flags.time));
  options.begin = window.begin;
  options.end = window.end;
  const std::string path = flags.path_or_default();
  TEPHRA_TRY(const OpenSched input, open_sched(path));
  const analysis::MapCpus cpus = analysis::map_cpus(input.recording, options);
  const bool color = color_wanted();
  Printer printer;
  uint64_t steps = 0;
  const uint64_t lost =
      analysis::sched_map(input.recording, input.events, cpus, options, [&](const analysis::MapStep& step) {
        ++steps;
        views::append_map_step(printer.text(), step, color);
        printer.flush_if_large();
      });
  if (steps == 0) return nothing_seen(path, options.choice.all());
  TEPHRA_CHECK_OK(printer.finish());
  fmt::print(stderr, "{}", views::lost_note(lost));
  if (cpus.left_out > 0) fmt::print(stderr, "{} not shown: choose with -C\n", base::counted(cpus.left_out, "CPU"));
  return kExitDone;
}

// --- record and show at once ---

// A file that is gone when this is.
class TemporaryFile {
 public:
  static base::Result<TemporaryFile> make() {
    const char* folder = std::getenv("TMPDIR");
    std::string path = fmt::format("{}/tephra-sched-XXXXXX", folder != nullptr && *folder != 0 ? folder : "/tmp");
    if (::mkdtemp(path.data()) == nullptr) return base::system_error("cannot create", path, errno);
    return TemporaryFile(std::move(path));
  }
  TemporaryFile(TemporaryFile&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (folder_.empty()) return;
    ::unlink(path().c_str());
    ::rmdir(folder_.c_str());
  }
  std::string path() const { return folder_ + "/perf.data"; }

 private:
  explicit TemporaryFile(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};

base::Result<int> record_and_show(SchedRecording& recording, const LatencyFlags& flags) {
  std::optional<TemporaryFile> temporary;
  if (recording.output.empty()) {
    TEPHRA_TRY(auto made, TemporaryFile::make());
    temporary.emplace(std::move(made));
    recording.output = temporary->path();
    recording.kept = false;
  }
  TEPHRA_TRY(const SchedRecorded recorded, record_sched(recording));
  if (!recorded.started) return recorded.status;
  TEPHRA_TRY(const int shown, show_latency(recording.output, flags));
  return shown != kExitDone ? shown : recorded.status;
}

constexpr const char* kSummary =
    "When was it interrupted, by whom, and how long did it wait to run: the scheduler's story of every thread.\n\n"
    "  tephra sched [OPTIONS] -d SECONDS           record the machine for so long, and show the table\n"
    "  tephra sched [OPTIONS] -- PROGRAM           the same until a program ends\n"
    "  tephra sched [OPTIONS] [FILE]               the table of a recording (perf.data), of tephra or perf sched\n"
    "  tephra sched record | latency | who | timehist | map    one step at a time; each has --help\n"
    "     record      records into a perf.data, which perf sched reads too\n"
    "     latency     the table: run time, delays, preemptions, interrupts, moves\n"
    "     who         what kept a thread from running\n"
    "     timehist    every run of every thread, in the order of time\n"
    "     map         who ran on which CPU over time\n";

constexpr const char* kExamples =
    "  tephra sched -d 5                           five seconds of the whole machine\n"
    "  tephra sched --comm worker -- ./server      the threads called worker, while the program runs\n"
    "  tephra sched record -d 10 && tephra sched who -p 1234     what kept a thread from running\n";

base::Result<int> run_plain(std::span<const std::string> arguments) {
  // Options end at the first other word, which is a file; behind -- is a program.
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const std::vector<std::string> words(arguments.begin(), dashes);
  LatencyFlags flags;
  SchedRecording recording;
  recording.output.clear();
  const auto parser = make_parser("sched", kSummary, kExamples);
  flags.declare(*parser);
  parser->add_option("-d,--duration", recording.seconds, "record so long: seconds, or as 5m")->type_name("TIME");
  parser->add_option("-o,--output", recording.output, "keep the recording")->type_name("FILE");
  parser->add_flag("-q,--quiet", recording.quiet, "only the table");
  TEPHRA_TRY(const bool go_on, parse(*parser, words));
  if (!go_on) return kExitDone;
  if (dashes != arguments.end()) recording.program.assign(dashes + 1, arguments.end());
  const bool live = !recording.seconds.empty() || !recording.program.empty();
  if (live && !flags.read.path.empty()) {
    return base::usage_error("-d and a program record anew", flags.read.path, "and a recording was named too",
                             "Leave one of them out.");
  }
  if (!live && !recording.output.empty()) {
    return base::usage_error("-o is for what is recorded", recording.output, "", "Add -d SECONDS, or -- PROGRAM.");
  }
  if (!live) return show_latency(flags.read.path_or_default(), flags);
  recording.command_line = {"tephra", "sched"};
  recording.command_line.insert(recording.command_line.end(), arguments.begin(), arguments.end());
  return record_and_show(recording, flags);
}

base::Result<int> run_sched(std::span<const std::string> arguments) {
  struct Part {
    std::string_view name;
    base::Result<int> (*run)(std::span<const std::string> arguments);
  };
  constexpr Part kParts[] = {{"record", run_sched_record},
                             {"latency", run_latency},
                             {"who", run_who},
                             {"timehist", run_timehist},
                             {"map", run_map}};
  if (!arguments.empty()) {
    for (const Part& part : kParts) {
      if (part.name == arguments[0]) return part.run(arguments.subspan(1));
    }
  }
  return run_plain(arguments);
}

}  // namespace

extern const Command kSchedCommand{"sched", "who waited for a CPU, how long, and behind whom", run_sched};

}  // namespace tephra::cli
