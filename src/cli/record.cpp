#include <fmt/format.h>

#include <cstdio>

#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/record_flags.h"
#include "cli/recording.h"
#include "collect/recorder.h"
#include "kernel/procfs.h"

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
               "tephra: the kernel paused sampling {} times: events came faster than its limit, {} a second (sysctl "
               "kernel.perf_event_max_sample_rate)\n",
               summary.throttled, kernel::max_sample_rate());
  }
  if (summary.late_writes > 0) {
    fmt::print(stderr, "tephra: the disk was late {} times\n", summary.late_writes);
  }
}

void print_cost(const collect::RecordSummary& summary) {
  const double seconds = std::max(summary.seconds, 1e-3);
  fmt::print(stderr,
             "tephra: recording took {:.3f} s of CPU ({:.2f} % of one), {}/s, {:.1f} wake-ups a second, in {} rounds\n",
             summary.own_cpu_seconds, 100 * summary.own_cpu_seconds / seconds,
             base::bytes_text(static_cast<uint64_t>(static_cast<double>(summary.output.bytes_written) / seconds)),
             static_cast<double>(summary.wakeups) / seconds, summary.output.rounds);
  if (summary.rings_grown > 0) {
    fmt::print(stderr, "tephra: rings grew {} times, to {}\n", summary.rings_grown,
               base::bytes_text(summary.ring_bytes));
  }
  if (summary.output.packed_bytes > 0 && summary.output.packed_bytes < summary.output.ring_bytes) {
    fmt::print(stderr, "tephra: {} became {}\n", base::bytes_text(summary.output.ring_bytes),
               base::bytes_text(summary.output.packed_bytes));
  }
}

std::string where(const collect::RecordSummary& summary) {
  if (summary.path == "-") return "standard output";
  const size_t files = summary.output.files_kept;
  if (files <= 1) return summary.path;
  return fmt::format("{} files, the last {}", files, summary.path);
}

void print_summary(const collect::RecordSummary& summary, bool verbose) {
  fmt::print(stderr, "tephra: recorded {} samples of {} in {:.1f} s, {} lost, to {} ({})\n", summary.samples,
             summary.event_name, summary.seconds, summary.lost, where(summary),
             base::bytes_text(summary.output.bytes_kept));
  if (summary.full) fmt::print(stderr, "tephra: the size limit ended the recording\n");
  print_losses(summary);
  const double cpu_seconds = summary.seconds * static_cast<double>(std::max<size_t>(summary.cpus, 1));
  if (summary.steal_seconds > 0.005 * cpu_seconds) {
    fmt::print(stderr, "tephra: the hypervisor took {:.1f} % of CPU time meanwhile (steal)\n",
               100 * summary.steal_seconds / std::max(cpu_seconds, 1e-3));
  }
  if (verbose) print_cost(summary);
}

base::Result<int> record(const collect::RecordOptions& options, const RecordFlags& flags) {
  const auto summary = collect::record(options, progress_on_terminal(flags.quiet));
  if (!summary) return own_failure(options.target, summary.error());
  if (summary->start_error != 0) return report_start_error(options.target, *summary);
  if (!flags.quiet) print_summary(*summary, flags.verbose);
  return summary->program_status;
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
