#include "cli/record_flags.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/units.h"
#include "cli/branch_types.h"
#include "cli/call_graph_option.h"
#include "cli/output_path.h"
#include "cli/redaction_key.h"
#include "kernel/procfs.h"

namespace tephra::cli {
namespace {

using collect::CallGraph;
using collect::RecordOptions;
using collect::SampleSettings;

constexpr long kMostWalkedFrames = 1024;

// "128" pages or "512K"; rounded up to a power of two pages.
base::Result<uint64_t> ring_bytes_of(const std::string& text) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  constexpr uint64_t kLargest = uint64_t{1} << 36;
  uint64_t bytes = 0;
  if (const auto pages = whole_number(text)) {
    bytes = *pages > kLargest / page ? kLargest + 1 : *pages * page;
  } else if (const auto size = base::parse_size(text)) {
    bytes = *size;
  }
  if (bytes == 0) return base::usage_error("not a ring size", text, "", "Write pages (-m 256) or a size (-m 4M).");
  if (bytes > kLargest) return base::usage_error("too large a ring", text, "", "At most 64G.");
  return std::bit_ceil(std::max(bytes, page));
}

base::Status set_max_stack(const std::string& text, SampleSettings& sampling) {
  const auto frames = whole_number(text);
  // The kernel's own limit is not that of the program that walks stacks there, which `auto` may come to take.
  const bool walked = sampling.call_graph == CallGraph::kBpf || sampling.call_graph == CallGraph::kAuto ||
                      sampling.call_graph == CallGraph::kNone;
  const long limit = walked ? kMostWalkedFrames : kernel::sysctl_number("kernel/perf_event_max_stack").value_or(127);
  if (!frames || *frames == 0) {
    return base::usage_error("not a depth of stacks", text, "", "Write frames, for example --max-stack 64.");
  }
  if (*frames > static_cast<uint64_t>(limit)) {
    return base::usage_error("cannot record stacks that deep", text, fmt::format("the limit is {} frames", limit),
                             walked ? std::string("Set a lower one.")
                                    : fmt::format("Use --call-graph bpf, or have root run 'sysctl "
                                                  "kernel.perf_event_max_stack={}'.",
                                                  *frames));
  }
  sampling.max_stack = static_cast<uint16_t>(*frames);
  return {};
}

base::Status set_rates(const RecordFlags& flags, SampleSettings& sampling) {
  if (!flags.frequency.empty() && !flags.period.empty()) {
    return base::usage_error("-F and -c cannot be used together", "", "", "One is a rate, the other a count.");
  }
  if (!flags.frequency.empty()) {
    TEPHRA_TRY(sampling.frequency, frequency_of(flags.frequency, "-F"));
  }
  if (!flags.period.empty()) {
    TEPHRA_TRY(sampling.period, period_of(flags.period, "-c"));
  }
  return {};
}

base::Status set_stacks(const RecordFlags& flags, SampleSettings& sampling) {
  if (flags.stacks) sampling.call_graph = CallGraph::kAuto;
  if (flags.call_graph) TEPHRA_CHECK_OK(set_call_graph(*flags.call_graph, sampling));
  if (!flags.max_stack.empty()) TEPHRA_CHECK_OK(set_max_stack(flags.max_stack, sampling));
  if (flags.user_stacks_only && flags.kernel_stacks_only) {
    return base::usage_error("--user-callchains and --kernel-callchains leave no stacks at all");
  }
  sampling.kernel_stacks = !flags.user_stacks_only;
  sampling.user_stacks = !flags.kernel_stacks_only;
  // Asking for a part of the stacks, or for their depth, asks for stacks.
  const bool wants = flags.user_stacks_only || flags.kernel_stacks_only || !flags.max_stack.empty();
  if (wants && sampling.call_graph == CallGraph::kNone) sampling.call_graph = CallGraph::kAuto;
  if (flags.any_branch && !flags.branches.empty()) {
    return base::usage_error("-b and -j cannot be used together", "", "", "-b means -j any.");
  }
  if (flags.any_branch || !flags.branches.empty()) {
    if (sampling.call_graph == CallGraph::kBranches) {
      return base::usage_error("--call-graph lbr and -b or -j cannot be used together", "", "",
                               "Both need the processor's one record of branches.");
    }
    TEPHRA_TRY(sampling.branch_types, parse_branch_types(flags.any_branch ? "any" : flags.branches));
  }
  return {};
}

base::Status set_content(const RecordFlags& flags, SampleSettings& sampling) {
  if (flags.all_user && flags.all_kernel) {
    return base::usage_error("--all-user and --all-kernel leave nothing to sample", "", "", "Leave both out.");
  }
  sampling.user_code = !flags.all_kernel;
  sampling.kernel_code = !flags.all_user;
  sampling.addresses = flags.addresses;
  sampling.physical_addresses = flags.physical_addresses;
  sampling.data_page_size = flags.data_page_size;
  sampling.code_page_size = flags.code_page_size;
  sampling.weights = flags.weights;
  sampling.raw = flags.raw;
  sampling.thread_counts = flags.thread_counts;
  sampling.build_ids = !flags.no_build_ids;
  sampling.switches = flags.switches;
  sampling.namespaces = flags.namespaces;
  sampling.cgroups = flags.all_cgroups;
  return {};
}

// As perf: a filter belongs to the tracepoints of the last -e before it.
base::Status set_filter(const std::string& text, size_t first, std::vector<kernel::EventSpec>& events) {
  bool any = false;
  for (size_t at = first; at < events.size(); ++at) {
    if (!events[at].tracepoint()) continue;
    auto& filter = events[at].filter;
    filter = filter.empty() ? text : fmt::format("({}) && ({})", filter, text);
    any = true;
  }
  if (any) return {};
  return base::usage_error("--filter has no tracepoint to filter", text, "",
                           "Write it behind one, for example -e sched:sched_switch --filter 'prev_pid == 1'.");
}

base::Status set_events(const CLI::App& parser, const RecordFlags& flags, RecordOptions& options) {
  size_t next_event = 0;
  size_t next_filter = 0;
  size_t last_list = 0;
  for (const CLI::Option* option : parser.parse_order()) {
    if (option->check_name("--event")) {
      last_list = options.events.size();
      TEPHRA_CHECK_OK(add_events(flags.events.at(next_event++), options.events));
    } else if (option->check_name("--filter")) {
      TEPHRA_CHECK_OK(set_filter(flags.filters.at(next_filter++), last_list, options.events));
    }
  }
  return {};
}

base::Status set_times(const RecordFlags& flags, RecordOptions& options) {
  if (!flags.delay.empty()) {
    TEPHRA_TRY(options.delay_s, delay_of(flags.delay));
    if (*options.delay_s < 0 && flags.control.empty()) {
      return base::usage_error("-D -1 waits for a command", "", "and none can come",
                               "Add --control fifo:PATH, or give milliseconds.");
    }
  }
  if (!flags.duration.empty()) {
    TEPHRA_TRY(options.duration_s, seconds_of(flags.duration, "--duration"));
  }
  return {};
}

base::Status set_output(const CLI::App& parser, const RecordFlags& flags, collect::OutputSettings& output) {
  output.path = flags.output;
  output.timestamp_names = flags.timestamp_names;
  if (parser.count("--compression-level") > 0) {
    const auto level = flags.compression.empty() ? std::optional<uint64_t>(1) : whole_number(flags.compression);
    if (!level || *level > 22) {
      return base::usage_error("not a level of compression", flags.compression, "",
                               "It is 1 (fast) to 22 (small), or 0 for none.");
    }
    output.compression_level = static_cast<int>(*level);
  }
  if (!flags.max_size.empty()) {
    TEPHRA_TRY(output.max_bytes, base::parse_size(flags.max_size));
  }
  if (parser.count("--switch-output") > 0) {
    TEPHRA_TRY(output.rotation, collect::parse_rotation(flags.rotation));
  }
  if (!flags.max_files.empty()) {
    const auto files = whole_number(flags.max_files);
    if (!files || *files == 0 || !output.rotation) {
      return base::usage_error("--switch-max-files needs a number and --switch-output", flags.max_files);
    }
    output.max_files = *files;
  }
  return {};
}

base::Status set_flight(const RecordFlags& flags, RecordOptions& options) {
  if (!flags.overwrite && (!flags.triggers.empty() || !flags.snapshots.empty())) {
    return base::usage_error("--trigger and --snapshots need --overwrite", "", "",
                             "It keeps the newest records in memory until a snapshot is wanted.");
  }
  if (!flags.overwrite) return {};
  if (options.output.rotation || options.output.max_bytes || options.output.path == "-") {
    return base::usage_error("--overwrite writes snapshots, not a stream of files", "", "",
                             "Leave out --switch-output and --max-size (-m sets how much is kept), and name a file "
                             "with -o.");
  }
  options.flight.emplace();
  options.flight->triggers = flags.triggers;
  if (!flags.snapshots.empty()) {
    options.flight->max_snapshots = whole_number(flags.snapshots);
    if (options.flight->max_snapshots.value_or(0) == 0) {
      return base::usage_error("not a number of snapshots", flags.snapshots);
    }
  }
  return {};
}

}  // namespace

const OptionsWithValue kRecordOptionsWithValue{
    "eFcoptmCuGDj",
    "--event --filter --freq --count --output --pid --tid --mmap-pages --cpu --call-graph --uid --cgroup --container "
    "--delay --branch-filter --max-stack --duration --max-size --switch-max-files --control --trigger --snapshots"};

void RecordFlags::declare(CLI::App& parser) {
  const auto list = [&parser](const char* name, std::vector<std::string>& values, const char* text) {
    return parser.add_option(name, values, text)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
  };
  refuse_redact(parser);
  parser.option_defaults()->group("What is recorded");
  target.declare(parser);
  joined(parser.add_option("-t,--tid", target.threads, "running threads"))->type_name("TID[,TID]");
  parser.add_option("-D,--delay", delay, "events stay off so long after the start; -1: until --control enables them")
      ->type_name("MS");
  parser.add_option("--duration", duration, "how long, in seconds or as 5m")->type_name("TIME");

  parser.option_defaults()->group("Events and how often");
  list("-e,--event", events,
       "what to sample: cycles, cpu-clock, LLC-load-misses, r1a8, cpu/event=0x3c/,\nmem:0x1000/8:w, "
       "sched:sched_*, {cycles,instructions}:S …; modifiers :u user code\nonly, :k kernel only, :p precise …; may be "
       "repeated")
      ->type_name("EVENT");
  list("--filter", filters, "let only these hits of the tracepoints before it through")->type_name("EXPR");
  parser.add_option("-F,--freq", frequency, "samples a second (4000), or max")->type_name("HZ");
  parser.add_flag("--strict-freq", strict_frequency, "as always here: a rate that cannot be had is an error");
  parser.add_option("-c,--count", period, "one sample every so many events")->type_name("N");
  parser.add_flag("--all-user", all_user, "only user code, for all events");
  parser.add_flag("--all-kernel", all_kernel, "only kernel code, for all events");

  parser.option_defaults()->group("What each sample holds");
  parser.add_flag("-g", stacks, "stacks, by the best way that works here (--call-graph auto)");
  parser.add_option("--call-graph", call_graph, kCallGraphHelp)->type_name("MODE");
  parser
      .add_option("--max-stack", max_stack,
                  "frames of a stack at most (127, the kernel's limit; walked in the kernel: 512, at most 1024)")
      ->type_name("N");
  parser.add_flag("--user-callchains", user_stacks_only, "stacks of user code only");
  parser.add_flag("--kernel-callchains", kernel_stacks_only, "stacks of kernel code only");
  parser.add_flag("-b,--branch-any", any_branch, "the last branches taken, of any kind (needs a PMU)");
  parser.add_option("-j,--branch-filter", branches, "the last branches of these kinds: any_call,u …")
      ->type_name("KINDS");
  parser.add_flag("-d,--data", addresses, "addresses of data, and where it came from");
  parser.add_flag("--phys-data", physical_addresses, "physical addresses of data");
  parser.add_flag("--data-page-size", data_page_size, "the size of the page that data is on");
  parser.add_flag("--code-page-size", code_page_size, "the size of the page that code is on");
  parser.add_flag("-W,--weight", weights, "what each access cost (needs a PMU)");
  parser.add_flag("-R,--raw-samples", raw, "raw data of every event, not of tracepoints alone");
  parser.add_flag("-s,--stat", thread_counts, "each thread's counts, when it ends");
  parser.add_flag("-B,--no-buildid", no_build_ids,
                  "do not let the kernel tell build ids: programs replaced later are not told apart,\nbut perf 6.1 "
                  "can record at the same time");
  parser.add_flag("--no-java-perfmap", no_java_maps,
                  "do not let Java processes write the names of compiled methods (jcmd Compiler.perfmap)");
  parser.add_flag("--switch-events", switches, "records of context switches");
  parser.add_flag("--namespaces", namespaces, "records of namespaces");
  parser.add_flag("--all-cgroups", all_cgroups, "records of control groups, and each sample's");

  parser.option_defaults()->group("Output");
  parser
      .add_option("-o,--output", output,
                  "the file to write (perf.data), an earlier one becomes FILE.old; - writes a\nstream to standard "
                  "output")
      ->type_name("FILE");
  parser
      .add_option("-z,--compression-level", compression,
                  "compress with zstd; the level, 1 to 22, is part of the word: -z9")
      ->expected(0, 1)
      ->type_name("[LEVEL]");
  parser.add_option("--max-size", max_size, "end when the file is this large: 10M, 2G")->type_name("SIZE");
  parser
      .add_option("--switch-output", rotation,
                  "go on in a new file on SIGUSR2, or at a size (=100M) or time (=10m);\nfiles are FILE.TIMESTAMP")
      ->expected(0, 1)
      ->type_name("[signal|SIZE|TIME]");
  parser.add_flag(
      "--no-embed", no_embed,
      "do not look up the names of what was sampled at the end, to store them: the\nrecording then needs the "
      "files that ran when it is read");
  parser.add_option("--switch-max-files", max_files, "keep only the newest so many")->type_name("N");
  parser.add_flag("--timestamp-filename", timestamp_names, "put the time into the file's name");

  parser.option_defaults()->group("Flight recorder");
  parser.add_flag("--overwrite", overwrite,
                  "keep the newest records in memory, and write a snapshot to FILE.TIMESTAMP on\nSIGUSR2, the key s, a "
                  "control command or a trigger");
  list("--trigger", triggers, "'runqlat>10ms', 'cpu>90%', 'psi>20'; may be repeated")->type_name("CONDITION");
  parser.add_option("--snapshots", snapshots, "end after so many")->type_name("N");

  parser.option_defaults()->group("Running");
  parser
      .add_option("-m,--mmap-pages", ring,
                  "ring of each CPU, pages or a size such as 4M: exactly that (512K, growing\nas needed; 4M with "
                  "--overwrite)")
      ->type_name("SIZE");
  parser.add_option("--control", control, "commands (enable, disable, snapshot, stop, ping …) through a FIFO")
      ->type_name("fifo:CTL[,ACK]|fd:CTL[,ACK]");
  parser.add_flag("-q,--quiet", quiet, "print only errors");
  parser.add_flag("-v,--verbose", verbose, "print what recording cost");
  // What perf needs and tephra always does.
  parser.option_defaults()->group("Taken for perf's sake, always so here");
  parser.add_flag("-T,--timestamp", perf_flags, "times of samples");
  parser.add_flag("-P,--period", perf_flags, "periods of samples");
  parser.add_flag("--sample-cpu", perf_flags, "CPUs of samples");
  parser.add_flag("-N,--no-buildid-cache", perf_flags, "no copies of programs");
  parser.option_defaults()->group("Options");
}

base::Result<RecordOptions> record_options(const CLI::App& parser, const RecordFlags& flags,
                                           std::vector<std::string> command) {
  RecordOptions options;
  options.java_maps = !flags.no_java_maps;
  TEPHRA_TRY(options.target, find_target(flags.target, std::move(command), "-t"));
  TEPHRA_CHECK_OK(set_rates(flags, options.sampling));
  TEPHRA_CHECK_OK(set_stacks(flags, options.sampling));
  TEPHRA_CHECK_OK(set_content(flags, options.sampling));
  TEPHRA_CHECK_OK(set_events(parser, flags, options));
  TEPHRA_CHECK_OK(set_times(flags, options));
  if (!flags.ring.empty()) {
    TEPHRA_TRY(options.ring_bytes, ring_bytes_of(flags.ring));
  }
  TEPHRA_CHECK_OK(set_output(parser, flags, options.output));
  TEPHRA_CHECK_OK(refuse_program(options.output.path, options.target.command));
  TEPHRA_CHECK_OK(set_flight(flags, options));
  options.control = flags.control;
  options.embed_names = !flags.no_embed && !flags.no_build_ids;
  return options;
}

}  // namespace tephra::cli
