#include <fmt/format.h>

#include <cstdio>

#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/record_flags.h"
#include "cli/recording.h"
#include "collect/recorder.h"
#include "kernel/procfs.h"
#include "views/printable.h"

namespace tephra::cli {
namespace {

constexpr const char* kSummary =
    "Records samples into a perf.data file, which perf and hotspot open too.\n\n"
    "  tephra record [OPTIONS] PROGRAM [ARGUMENTS]\n"
    "  tephra record [OPTIONS] -p PID | -t TID | -u USER | -G CGROUP | --container ID | -a [PROGRAM [ARGUMENTS]]\n"
    "                                              until Ctrl-C, or the program's end\n";

constexpr const char* kExamples =
    "  tephra record -g -- ./server --port 80      record a program and its children, with stacks\n"
    "  tephra record -F 99 -a -g -o all.data sleep 10   record the whole machine for ten seconds\n"
    "  tephra record -F 999 -a -g --overwrite --trigger 'runqlat>10ms'   keep the last seconds, and write them\n"
    "                                              whenever a thread waits 10 ms for a CPU\n";

void print_losses(const collect::RecordSummary& summary) {
  if (summary.lost > 0) {
    fmt::print(stderr, "tephra: records were lost: use larger rings (-m {}M) or a lower rate (-F)\n",
               std::max<size_t>(4, summary.ring_bytes * 4 >> 20));
  }
  if (summary.throttled > 0) {
    fmt::print(stderr,
               "tephra: the kernel paused sampling {}: events came faster than its limit, {} a second (sysctl "
               "kernel.perf_event_max_sample_rate)\n",
               base::counted(summary.throttled, "time"), kernel::max_sample_rate());
  }
  if (summary.stacks && summary.stacks->processes.tables.refused > 0) {
    fmt::print(stderr, "tephra: there was no room for all call-frame tables; stacks there were copied instead\n");
  }
  if (summary.late_writes > 0) {
    fmt::print(stderr, "tephra: the disk was late {}\n", base::counted(summary.late_writes, "time"));
  }
}

void print_cost(const collect::RecordSummary& summary) {
  const double seconds = summary.seconds;
  if (seconds < 0.5) {  // rates would say little
    fmt::print(stderr, "tephra: recording took {:.3f} s of CPU and {}\n", summary.own_cpu_seconds,
               base::counted(summary.wakeups, "wake-up"));
    return;
  }
  fmt::print(stderr, "tephra: recording took {:.3f} s of CPU ({:.2f} % of one), {}/s, {:.1f} wake-ups a second\n",
             summary.own_cpu_seconds, 100 * summary.own_cpu_seconds / seconds,
             base::bytes_text(static_cast<uint64_t>(static_cast<double>(summary.output.bytes_written) / seconds)),
             static_cast<double>(summary.wakeups) / seconds);
}

void print_details(const collect::RecordSummary& summary) {
  fmt::print(stderr, "tephra: {}, rings of {}\n", base::counted(summary.output.rounds, "round"),
             base::bytes_text(summary.ring_bytes));
  if (summary.stacks) {
    const auto& [program, processes] = *summary.stacks;
    fmt::print(stderr, "tephra: stacks: {} walked in the kernel, {} copied before it knew the process, {} lost\n",
               program.walked, program.left_to_perf, program.lost);
    if (program.runs > 0) {
      fmt::print(stderr, "tephra: walking took {:.2f} us a sample\n",
                 static_cast<double>(program.run_ns) / static_cast<double>(program.runs) / 1e3);
    }
    fmt::print(stderr, "tephra: call-frame tables took {}, for {}\n", base::bytes_text(program.table_bytes),
               base::counted(processes.tables.tables, "file"));
  }
  for (const model::CopySize& size : summary.copy_sizes) {
    fmt::print(stderr, "tephra: copies of {}: {}, {} cut\n", base::bytes_text(size.bytes),
               base::counted(size.samples, "sample"), base::with_separators(size.cut));
  }
  if (summary.rings_grown > 0) {
    fmt::print(stderr, "tephra: rings grew {}\n", base::counted(summary.rings_grown, "time"));
  }
  if (summary.names_bytes > 0) {
    fmt::print(stderr, "tephra: stored the names of {} addresses in {}, which took {:.3f} s of CPU\n",
               summary.named_addresses, base::bytes_text(summary.names_bytes), summary.names_cpu_seconds);
  }
  if (summary.output.packed_bytes > 0 && summary.output.packed_bytes < summary.output.ring_bytes) {
    fmt::print(stderr, "tephra: {} became {}\n", base::bytes_text(summary.output.ring_bytes),
               base::bytes_text(summary.output.packed_bytes));
  }
}

std::string where(const collect::RecordSummary& summary) {
  if (summary.path == "-") return "standard output";
  const size_t files = summary.output.files_kept;
  if (files <= 1) return views::printable(summary.path);
  return fmt::format("{} files, the last {}", files, views::printable(summary.path));
}

void print_summary(const collect::RecordSummary& summary, bool verbose) {
  fmt::print(stderr, "tephra: recorded {} of {} in {:.1f} s, {} lost, to {} ({})\n",
             base::counted(summary.samples, "sample"), summary.event_name, summary.seconds, summary.lost,
             where(summary), base::bytes_text(summary.output.bytes_kept));
  if (summary.full) {
    fmt::print(stderr, "tephra: the size limit ended the recording; it left no room for {} more\n",
               base::counted(summary.beyond_limit, "sample"));
  }
  if (summary.reader_gone) fmt::print(stderr, "tephra: whoever read the recording went away, which ended it\n");
  print_losses(summary);
  const double cpu_seconds = summary.seconds * static_cast<double>(std::max<size_t>(summary.cpus, 1));
  // The kernel counts it in ticks, which say nothing about short times.
  if (summary.seconds >= 1 && summary.steal_seconds > 0.005 * cpu_seconds) {
    fmt::print(stderr, "tephra: the hypervisor took {:.1f} % of CPU time meanwhile (steal)\n",
               std::min(100.0, 100 * summary.steal_seconds / cpu_seconds));
  }
  print_cost(summary);
  if (verbose) print_details(summary);
}

base::Result<int> record(const collect::RecordOptions& options, const RecordFlags& flags) {
  const auto summary = collect::record(options, progress_on_terminal(flags.quiet));
  if (!summary) return own_failure(options.target, summary.error());
  if (summary->start_error != 0) return report_start_error(options.target, *summary);
  if (!flags.quiet) print_summary(*summary, flags.verbose);
  // A program that was ended because all was recorded did not fail.
  return summary->done_early ? kExitDone : summary->program_status;
}

base::Result<int> run_record(std::span<const std::string> arguments) {
  auto [words, program] = split_program(arguments, kRecordOptionsWithValue);
  RecordFlags flags;
  const auto parser = make_parser("record", kSummary, kExamples);
  flags.declare(*parser);
  TEPHRA_TRY(const bool go_on, parse(*parser, words));
  if (!go_on) return kExitDone;
  auto options = record_options(*parser, flags, program);
  if (!options) return own_failure({.command = program}, options.error());
  options->command_line = {"tephra", "record"};
  options->command_line.insert(options->command_line.end(), arguments.begin(), arguments.end());
  if (!flags.quiet) options->on_note = note_on_terminal();
  return record(*options, flags);
}

}  // namespace

extern const Command kRecordCommand{"record", "record samples into a perf.data file", run_record};

}  // namespace tephra::cli
