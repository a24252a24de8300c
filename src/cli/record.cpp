#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <system_error>

#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/recording.h"
#include "collect/recorder.h"
#include "kernel/procfs.h"

namespace tephra::cli {
namespace {

constexpr const char* kSummary =
    "Records samples into a perf.data file, which perf and hotspot open too.\n\n"
    "  tephra record [OPTIONS] PROGRAM [ARGUMENTS]\n"
    "  tephra record [OPTIONS] -p PID | -t TID | -a [PROGRAM [ARGUMENTS]]    until Ctrl-C, or the program's end\n";

constexpr const char* kExamples =
    "  tephra record -g -- ./server --port 80      record a program and its children, with stacks\n"
    "  tephra record -F 99 -a -g -o all.data sleep 10   record the whole machine for ten seconds\n";

constexpr OptionsWithValue kOptionsWithValue{
    "eFcoptmC", "--event --freq --count --output --pid --tid --mmap-pages --cpu --call-graph"};

struct Flags {
  std::vector<std::string> events;
  std::string frequency;
  std::string period;
  std::string call_graph;
  std::string processes;
  std::string threads;
  std::string cpus;
  std::string ring;
  std::string output = "perf.data";
  bool stacks = false;
  bool all_cpus = false;
  bool no_inherit = false;
  bool quiet = false;
  bool verbose = false;
};

// "128" pages or "512K"; rounded up to a power of two pages.
base::Result<uint64_t> ring_bytes_of(const std::string& text) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  constexpr std::string_view kUnits = "BKMG";
  const size_t unit = text.empty() ? std::string_view::npos : kUnits.find(static_cast<char>(std::toupper(text.back())));
  const auto number = whole_number(unit == std::string_view::npos ? text : text.substr(0, text.size() - 1));
  constexpr uint64_t kLargest = uint64_t{1} << 36;
  if (!number || *number == 0 || *number > kLargest >> (unit == std::string_view::npos ? 0 : 10 * unit)) {
    return base::usage_error("not a ring size", text, "", "Write pages (-m 256) or a size (-m 4M).");
  }
  const uint64_t bytes = unit == std::string_view::npos ? *number * page : *number << (10 * unit);
  if (bytes > kLargest) return base::usage_error("too large a ring", text, "", "At most 64G.");
  return std::bit_ceil(std::max(bytes, page));
}

base::Status set_call_graph(const std::string& text, collect::SampleSettings& sampling) {
  const size_t comma = text.find(',');
  const std::string mode = text.substr(0, comma);
  if (mode == "fp" && comma == std::string::npos) {
    sampling.call_graph = collect::CallGraph::kFramePointers;
    return {};
  }
  if (mode != "dwarf") {
    return base::usage_error("unknown call graph mode", text, "", "Write fp, dwarf or dwarf,SIZE.");
  }
  sampling.call_graph = collect::CallGraph::kDwarf;
  if (comma == std::string::npos) return {};
  const auto size = whole_number(std::string_view(text).substr(comma + 1));
  const uint64_t rounded = size ? (*size + 7) / 8 * 8 : 0;
  if (rounded == 0 || rounded > collect::kMaxStackBytes) {
    return base::usage_error("not a stack size", text, "",
                             fmt::format("It is 1 to {} bytes.", collect::kMaxStackBytes));
  }
  sampling.stack_bytes = static_cast<uint32_t>(rounded);
  return {};
}

base::Status set_target(const Flags& flags, std::vector<std::string> command, collect::Target& target) {
  target.command = std::move(command);
  target.all_cpus = flags.all_cpus;
  target.inherit = !flags.no_inherit;
  if (!flags.processes.empty()) {
    TEPHRA_TRY(target.processes, id_list(flags.processes, "-p"));
  }
  if (!flags.threads.empty()) {
    TEPHRA_TRY(target.threads, id_list(flags.threads, "-t"));
  }
  if (!flags.cpus.empty()) {
    const auto cpus = kernel::parse_cpu_list(flags.cpus);
    if (!cpus) return base::usage_error("not a list of CPUs", flags.cpus, "", "Write for example -C 0-3,8.");
    target.cpus = *cpus;
    if (target.processes.empty() && target.threads.empty()) target.all_cpus = true;
  }
  if (target.all_cpus && !(target.processes.empty() && target.threads.empty())) {
    return base::usage_error("-a records everything, so -p and -t have no place beside it", "", "", "Leave one out.");
  }
  if (!target.processes.empty() && !target.threads.empty()) {
    return base::usage_error("-p and -t cannot be used together", "", "",
                             "A process is recorded with all its threads.");
  }
  if (target.empty()) {
    return base::usage_error("nothing to record", "", "",
                             "Name a program ('tephra record -g -- ./program'), a process "
                             "(-p PID), a thread (-t TID) or everything (-a). See 'tephra record --help'.");
  }
  return {};
}

base::Result<collect::RecordOptions> options_from(const Flags& flags, std::vector<std::string> command) {
  collect::RecordOptions options;
  TEPHRA_CHECK_OK(set_target(flags, std::move(command), options.target));
  if (!flags.frequency.empty() && !flags.period.empty()) {
    return base::usage_error("-F and -c cannot be used together", "", "", "One is a rate, the other a count.");
  }
  if (!flags.frequency.empty()) {
    TEPHRA_TRY(options.sampling.frequency, frequency_of(flags.frequency, "-F"));
  }
  if (!flags.period.empty()) {
    TEPHRA_TRY(options.sampling.period, period_of(flags.period, "-c"));
  }
  if (flags.stacks) options.sampling.call_graph = collect::CallGraph::kFramePointers;
  if (!flags.call_graph.empty()) TEPHRA_CHECK_OK(set_call_graph(flags.call_graph, options.sampling));
  if (!flags.ring.empty()) {
    TEPHRA_TRY(options.ring_bytes, ring_bytes_of(flags.ring));
  }
  if (flags.output == "-") {
    return base::usage_error("cannot record to a pipe", "", "", "Give a file with -o FILE.");
  }
  options.output = flags.output;
  for (const std::string& list : flags.events) {
    TEPHRA_TRY(auto events, kernel::parse_events(list));
    options.events.insert(options.events.end(), events.begin(), events.end());
  }
  return options;
}

void declare(CLI::App& parser, Flags& flags) {
  parser
      .add_option("-e,--event", flags.events,
                  "what to sample: cycles, cpu-clock, page-faults, sched:sched_switch …;\n"
                  ":u user code only, :k kernel only; may be repeated")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  parser.add_option("-F,--freq", flags.frequency, "samples a second (4000), or max");
  parser.add_option("-c,--count", flags.period, "one sample every so many events");
  parser.add_flag("-g", flags.stacks, "record stacks by frame pointers");
  parser.add_option("--call-graph", flags.call_graph,
                    "fp, or dwarf[,SIZE]: copy the top SIZE bytes of the stack (8192)");
  parser.add_flag("-a,--all-cpus", flags.all_cpus, "everything on the machine");
  parser.add_option("-p,--pid", flags.processes, "running processes, with their threads");
  parser.add_option("-t,--tid", flags.threads, "running threads");
  parser.add_option("-C,--cpu", flags.cpus, "only on these CPUs, for example 0-3,8");
  parser.add_flag("-i,--no-inherit", flags.no_inherit, "leave out child processes and new threads");
  parser.add_option("-o,--output", flags.output, "the file to write (perf.data); an earlier one becomes FILE.old");
  parser.add_option("-m,--mmap-pages", flags.ring, "ring of each CPU: pages, or a size such as 4M (512K)");
  parser.add_flag("-q,--quiet", flags.quiet, "print only errors");
  parser.add_flag("-v,--verbose", flags.verbose, "print what recording cost");
}

void print_summary(const collect::RecordSummary& summary, const std::string& output, bool verbose) {
  fmt::print(stderr, "tephra: recorded {} samples of {} in {:.1f} s, {} lost, to {} ({})\n", summary.samples,
             summary.event_name, summary.seconds, summary.lost, output, base::bytes_text(summary.bytes));
  if (summary.lost > 0)
    fmt::print(stderr, "tephra: records were lost: use a larger ring (-m 4M) or a lower rate (-F)\n");
  if (summary.throttled > 0) {
    fmt::print(stderr, "tephra: the kernel paused sampling {} times because it took too long\n", summary.throttled);
  }
  if (verbose) {
    fmt::print(stderr, "tephra: recording took {:.3f} s of CPU in {} rounds\n", summary.own_cpu_seconds,
               summary.rounds);
  }
}

base::Result<int> record(const collect::RecordOptions& options, const Flags& flags) {
  const auto summary = collect::record(options, progress_on_terminal(flags.quiet));
  if (!summary) return own_failure(options.target, summary.error());
  if (summary->start_error != 0) return report_start_error(options.target, *summary);
  if (!flags.quiet) print_summary(*summary, options.output, flags.verbose);
  return summary->program_status;
}

base::Result<int> run_record(std::span<const std::string> arguments) {
  auto [words, program] = split_program(arguments, kOptionsWithValue);
  Flags flags;
  const auto parser = make_parser("record", kSummary, kExamples);
  declare(*parser, flags);
  TEPHRA_TRY(const bool go_on, parse(*parser, words));
  if (!go_on) return kExitDone;
  TEPHRA_TRY(collect::RecordOptions options, options_from(flags, std::move(program)));
  options.command_line = {"tephra", "record"};
  options.command_line.insert(options.command_line.end(), arguments.begin(), arguments.end());
  if (!flags.quiet) options.on_note = [](const std::string& text) { fmt::print(stderr, "tephra: {}\n", text); };
  return record(options, flags);
}

}  // namespace

extern const Command kRecordCommand{"record", "record samples into a perf.data file", run_record};

}  // namespace tephra::cli
