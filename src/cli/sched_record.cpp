#include "cli/sched_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/output_path.h"
#include "cli/target_options.h"
#include "collect/recorder.h"
#include "kernel/tracefs.h"
#include "views/printable.h"

namespace tephra::cli {
namespace {

// What answers the questions; without the first there are no answers. sched_stat_runtime is for perf, which takes run
// times from it.
constexpr std::string_view kNeeded = "sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new";
constexpr std::string_view kWanted[] = {"sched:sched_waking",
                                        "sched:sched_migrate_task",
                                        "sched:sched_stat_runtime",
                                        "sched:sched_process_fork",
                                        "sched:sched_process_exit",
                                        "irq:irq_handler_entry",
                                        "irq:irq_handler_exit",
                                        "irq:softirq_entry",
                                        "irq:softirq_exit",
                                        "irq_vectors:local_timer_entry",
                                        "irq_vectors:local_timer_exit"};

constexpr OptionsWithValue kOptionsWithValue{"dopC", "--duration --output --pid --cpu"};

// The tracepoints that this kernel has.
base::Result<std::string> event_list() {
  // Mounts tracefs where it must, and is the one to say why that cannot be.
  TEPHRA_TRY(const std::string folder, kernel::tracefs_folder());
  const std::vector<std::string> known = kernel::Tracepoints(folder).names();
  std::string list(kNeeded);
  for (const std::string_view name : kWanted) {
    if (std::find(known.begin(), known.end(), name) != known.end()) list.append(",").append(name);
  }
  return list;
}

base::Result<collect::RecordOptions> options_of(const SchedRecording& recording) {
  collect::RecordOptions options;
  TargetFlags flags;
  flags.all_cpus = recording.cpus.empty();
  flags.cpus = recording.cpus;
  TEPHRA_TRY(options.target, find_target(flags, recording.program, "-t"));
  options.target.all_cpus = true;
  const bool mounted = kernel::tracefs_is_mounted();
  TEPHRA_TRY(const std::string events, event_list());
  if (!mounted && kernel::tracefs_is_mounted() && !recording.quiet) {
    fmt::print(stderr, "tephra: mounted tracefs at /sys/kernel/tracing, to read tracepoints\n");
  }
  TEPHRA_CHECK_OK(add_events(events, options.events));
  if (!recording.seconds.empty()) {
    TEPHRA_TRY(options.duration_s, seconds_of(recording.seconds, "-d"));
  }
  if (recording.stacks) options.sampling.call_graph = collect::CallGraph::kFramePointers;
  options.output.path = recording.output;
  TEPHRA_CHECK_OK(refuse_program(options.output.path, options.target.command));
  // Without stacks there is no address to name.
  options.embed_names = recording.stacks;
  options.java_maps = recording.stacks;
  options.command_line = recording.command_line;
  if (!recording.quiet) options.on_note = note_on_terminal();
  return options;
}

void print_summary(const collect::RecordSummary& summary, bool to_keep) {
  fmt::print(
      stderr, "tephra: recorded {} of the scheduler in {:.1f} s, {} lost{}\n", base::counted(summary.samples, "event"),
      summary.seconds, summary.lost,
      to_keep ? fmt::format(", to {} ({})", views::printable(summary.path), base::bytes_text(summary.output.bytes_kept))
              : "");
}

constexpr const char* kSummary =
    "Records when threads switch, wake and move, and which interrupts ran, on all CPUs.\n\n"
    "  tephra sched record [OPTIONS] [-- PROGRAM [ARGUMENTS]]      until Ctrl-C, or the program's end\n";

constexpr const char* kExamples =
    "  tephra sched record -d 5                    the whole machine for five seconds, into perf.data\n"
    "  tephra sched record -- ./server --port 80   until the program ends\n"
    "  tephra sched latency                        the answer; 'perf sched latency' reads the file too\n";

}  // namespace

base::Result<SchedRecorded> record_sched(const SchedRecording& recording) {
  auto options = options_of(recording);
  collect::Target program;
  program.command = recording.program;
  const auto fail = [&](const base::Error& error) -> base::Result<SchedRecorded> {
    const auto status = own_failure(program, error);
    if (!status) return status.error();
    return SchedRecorded{*status, false};
  };
  if (!options) return fail(options.error());
  const auto summary = collect::record(*options, progress_on_terminal(recording.quiet));
  if (!summary) return fail(summary.error());
  if (summary->start_error != 0) return SchedRecorded{report_start_error(options->target, *summary), false};
  if (!recording.quiet) print_summary(*summary, recording.kept);
  return SchedRecorded{summary->done_early ? kExitDone : summary->program_status, true};
}

base::Result<int> run_sched_record(std::span<const std::string> arguments) {
  auto [words, program] = split_program(arguments, kOptionsWithValue);
  SchedRecording recording;
  std::string pids;
  bool all = false;
  const auto parser = make_parser("sched record", kSummary, kExamples);
  parser->add_flag("-a,--all-cpus", all, "everything on the machine: always so");
  parser
      ->add_option("-p,--pid", pids,
                   "a process of interest; all is recorded still, since who ran instead is part\n"
                   "of the answer: read with --pid")
      ->type_name("PID");
  parser->add_option("-C,--cpu", recording.cpus, "only on these CPUs: 0,2-4")->type_name("CPUS");
  parser->add_option("-d,--duration", recording.seconds, "how long, in seconds or as 5m")->type_name("TIME");
  parser->add_option("-o,--output", recording.output, "the file to write (perf.data)")->type_name("FILE");
  parser->add_flag("-g", recording.stacks, "with the stacks of those who switch and wake, by frame pointers");
  parser->add_flag("-q,--quiet", recording.quiet, "print only errors");
  TEPHRA_TRY(const bool go_on, parse(*parser, words));
  if (!go_on) return kExitDone;
  if (!pids.empty()) {
    TEPHRA_TRY(const auto chosen, id_list(pids, "-p"));
    if (!recording.quiet) {
      fmt::print(stderr,
                 "tephra: recording the whole machine, since who ran instead of {} is part of the answer; read "
                 "with --pid {}\n",
                 chosen.size() == 1 ? "a process" : "processes", pids);
    }
  }
  recording.program = std::move(program);
  recording.command_line = {"tephra", "sched", "record"};
  recording.command_line.insert(recording.command_line.end(), arguments.begin(), arguments.end());
  TEPHRA_TRY(const SchedRecorded recorded, record_sched(recording));
  return recorded.status;
}

}  // namespace tephra::cli
