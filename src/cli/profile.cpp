#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "base/file.h"
#include "base/names.h"
#include "cli/arguments.h"
#include "cli/call_graph_option.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/off_cpu_options.h"
#include "cli/profile_drawing.h"
#include "cli/recording.h"
#include "cli/redaction_key.h"
#include "cli/target_options.h"
#include "collect/profile_type.h"
#include "collect/recorder.h"
#include "kernel/procfs.h"

namespace tephra::cli {
namespace {

constexpr const char* kSummary =
    "Profiles a program and draws it: a recording, folded stacks, a flame graph and an HTML report in a folder, the "
    "top\n"
    "functions and the verdict on the screen.\n\n"
    "  tephra profile [OPTIONS] -p PID | -u USER | -G CGROUP | --container ID | -a | -c COMMAND | -- PROGRAM "
    "[ARGUMENTS]\n";

constexpr const char* kExamples =
    "  tephra profile -t cpu -p 1234 -d 30       a running process, for 30 seconds\n"
    "  tephra profile -t cpu -- ./server --port 80    a program and its children, to their end\n"
    "  tephra profile -t offcpu --wakers -p 1234    where its threads wait, and who ends that\n"
    "  tephra profile -t io -p 1234              who asks the disks for what, and how long it takes\n"
    "  tephra profile -t tcp -p 1234             connects, retransmits, resets and bytes\n"
    "  tephra profile -t cpu,wall,mem -p 1234    several types in one recording\n";

constexpr double kDefaultSeconds = 30;

constexpr OptionsWithValue kOptionsWithValue{
    "tpcdfouGCDe",
    "--type --pid --tid --command --duration --freq --period --output --uid --cgroup --container --cpu --delay --event "
    "--weight --call-graph --symfs --debug-root --debuginfod-timeout --min-us --max-us --state --threshold --budget"};

struct Flags {
  std::string types = "cpu";
  TargetFlags target;
  std::string command;
  std::string delay;
  std::vector<std::string> events;
  std::string seconds;
  std::string frequency;
  std::string period;
  std::string call_graph = "auto";
  OffCpuFlags off_cpu;
  std::string folder = "tephra-out";
  InputOptions input;
  bool no_java_maps = false;
  bool minor_faults = false;
  bool major_faults = false;
};

std::string types_help() {
  std::string text = "what to profile, several in one recording too:";
  for (const collect::ProfileType* type : collect::profile_types()) {
    text += fmt::format("\n{}: {}", type->name, type->summary);
  }
  return text;
}

void declare(CLI::App& parser, Flags& flags) {
  parser.add_option("-t,--type", flags.types, types_help())->type_name("TYPE[,TYPE]");
  flags.target.declare(parser);
  joined(parser.add_option("--tid", flags.target.threads, "running threads"))->type_name("TID[,TID]");
  parser.add_option("-c,--command", flags.command, "a command line for the shell")->type_name("COMMAND");
  parser.add_option("-d,--duration", flags.seconds, "how long (30 for what already runs; a program: to its end)")
      ->type_name("SECONDS");
  parser.add_option("-D,--delay", flags.delay, "begin so many milliseconds after the start")->type_name("MS");
  parser.add_option("-e,--event", flags.events, "what to sample instead of CPU time, as in tephra record")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->type_name("EVENT");
  parser
      .add_option("--weight", flags.input.weight,
                  "-e with a tracepoint: what its samples weigh, by a field that it has, such as bytes_req")
      ->type_name("FIELD");
  parser.add_option("-f,--freq", flags.frequency, "samples a second (99), or max")->type_name("HZ");
  parser.add_option("--period", flags.period, "one sample every so many events instead")->type_name("N");
  parser.add_flag("--minor", flags.minor_faults, "with -t mem: only faults that read nothing from a disk");
  parser.add_flag("--major", flags.major_faults, "with -t mem: only faults that waited for a disk");
  parser.add_option("--call-graph", flags.call_graph, kCallGraphHelp)->type_name("MODE");
  flags.off_cpu.declare(parser);
  parser.add_option("-o,--output", flags.folder, "the folder for the files (tephra-out)")->type_name("DIR");
  declare_names(parser, flags.input.symbols);
  refuse_redact(parser);
  parser.add_flag("--no-java-perfmap", flags.no_java_maps,
                  "do not let Java processes write the names of compiled methods");
  parser.add_flag("--idle", flags.input.keep_idle, "keep samples of the idle task");
  parser.add_flag("--own", flags.input.keep_own, "keep samples of tephra itself");
  parser.add_flag("--strict", flags.input.strict, "exit with status 3 unless the verdict is good");
  parser.add_flag("-q,--quiet", flags.input.quiet, "print only where the picture and the report are");
  parser.add_flag("-v,--verbose", flags.input.verbose, "print the verdict in full");
}

base::Result<std::vector<ShownType>> types_of(const std::string& list) {
  std::vector<ShownType> types;
  for (const std::string& name : CLI::detail::split(list, ',')) {
    TEPHRA_TRY(const collect::ProfileType* type, collect::find_profile_type(name));
    const auto is_same = [&](const ShownType& other) { return other.type == type; };
    if (std::ranges::none_of(types, is_same)) types.push_back({type, ""});
  }
  return types;
}

// Lets each type add what it needs.
base::Status add_types(const Flags& flags, std::vector<ShownType>& types, collect::RecordOptions& options) {
  collect::TypeSettings settings;
  for (const std::string& list : flags.events) {
    TEPHRA_CHECK_OK(add_events(list, settings.events));
  }
  const bool has_cpu = std::ranges::any_of(types, [](const ShownType& shown) { return shown.type->name == "cpu"; });
  if (!settings.events.empty() && !has_cpu) {
    return base::usage_error("-e chooses what -t cpu samples", "", "", "Leave out -t, or add cpu to it.");
  }
  if (!flags.period.empty() && !flags.frequency.empty()) {
    return base::usage_error("-f and --period cannot be used together", "", "", "One is a rate, the other a count.");
  }
  if (!flags.frequency.empty()) {
    TEPHRA_TRY(settings.frequency, frequency_of(flags.frequency, "-f"));
  }
  if (!flags.period.empty()) {
    TEPHRA_TRY(settings.period, period_of(flags.period, "--period"));
  }
  const auto takes_faults = [](const ShownType& shown) { return shown.type->table == collect::TypeTable::kMemory; };
  if ((flags.minor_faults || flags.major_faults) && std::ranges::none_of(types, takes_faults)) {
    return base::usage_error("--minor and --major are of page faults", "", "", "Add -t mem.");
  }
  settings.minor_faults = flags.minor_faults;
  settings.major_faults = flags.major_faults;
  const auto takes_waits = [](const ShownType& shown) { return shown.type->table == collect::TypeTable::kWaits; };
  if (flags.off_cpu.any() && std::ranges::none_of(types, takes_waits)) {
    return base::usage_error("these options are of waits", "", "", "Add -t offcpu.");
  }
  TEPHRA_TRY(settings.off_cpu, off_cpu_settings(flags.off_cpu));
  for (ShownType& shown : types) {
    TEPHRA_TRY(shown.event, shown.type->add(settings, options));
  }
  return {};
}

base::Result<collect::RecordOptions> record_options(const Flags& flags, std::vector<ShownType>& types,
                                                    std::vector<std::string> program) {
  TEPHRA_TRY(types, types_of(flags.types));
  collect::RecordOptions options;
  options.java_maps = !flags.no_java_maps;
  if (!flags.command.empty() && !program.empty()) {
    return base::usage_error("two programs to run", "", "", "Give -c COMMAND or -- PROGRAM, not both.");
  }
  if (!flags.command.empty()) program = {"/bin/sh", "-c", flags.command};
  TEPHRA_TRY(options.target, find_target(flags.target, std::move(program), "--tid"));
  TEPHRA_CHECK_OK(add_types(flags, types, options));
  if (!flags.delay.empty()) {
    TEPHRA_TRY(options.delay_s, delay_of(flags.delay));
    if (*options.delay_s < 0) return base::usage_error("not a delay", flags.delay, "", "Write milliseconds.");
  }
  TEPHRA_CHECK_OK(set_call_graph(flags.call_graph, options.sampling));
  if (!flags.seconds.empty()) {
    TEPHRA_TRY(options.duration_s, seconds_of(flags.seconds, "-d"));
  } else if (options.target.command.empty()) {
    options.duration_s = kDefaultSeconds;
  }
  return options;
}

// What the files are called after: the name and number of what was profiled.
struct Subject {
  std::string name;
  int pid = 0;
};

Subject subject_of(const collect::Target& target, const Flags& flags, const collect::RecordSummary& summary) {
  if (target.all_cpus) return {"all", 0};
  if (!target.cgroups.empty()) return {std::string(base::path_base_name(target.cgroups[0].name)), 0};
  if (target.user) return {"user", static_cast<int>(*target.user)};
  if (target.records_program() && !flags.command.empty()) {
    const std::string_view first_word = std::string_view(flags.command).substr(0, flags.command.find(' '));
    return {std::string(base::path_base_name(first_word)), summary.program_pid};
  }
  if (target.records_program()) return {std::string(base::path_base_name(target.command[0])), summary.program_pid};
  const int id = target.processes.empty() ? target.threads[0] : target.processes[0];
  const auto status = kernel::task_status(id);
  return {status ? status->comm : "process", id};
}

std::string file_stem(const Flags& flags, const Subject& subject) {
  const std::time_t now = std::time(nullptr);
  std::string types = flags.types;
  std::ranges::replace(types, ',', '+');
  return fmt::format("{}/{}-{}-{}-{:%Y%m%d-%H%M%S}", flags.folder, types, base::safe_file_name(subject.name),
                     subject.pid, fmt::localtime(now));
}

// CPU time that the target used so far; a program we start is one of our children. Nothing for the whole machine.
double cpu_seconds_of(const collect::Target& target) {
  double seconds = 0;
  if (target.records_program()) {
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
      seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    }
  }
  for (const pid_t pid : target.processes) seconds += kernel::cpu_seconds(pid).value_or(0);
  for (const pid_t tid : target.threads) seconds += kernel::cpu_seconds(tid).value_or(0);
  return seconds;
}

struct Recorded {
  collect::RecordSummary summary;
  double cpu_seconds = 0;  // that the target used meanwhile
  std::string stem;        // of the files, the recording's among them; empty when nothing was sampled
};

// After an error in the middle the recording may have been kept: it gets the name it would have had.
base::Error keep_salvaged(base::Error error, const collect::RecordOptions& options, const std::string& stem) {
  const std::string path = stem + ".perf.data";
  if (::rename(options.output.path.c_str(), path.c_str()) == 0) {
    error.fix += fmt::format(" It is {}; draw it with 'tephra flame'.", path);
  }
  return error;
}

// Records under a temporary name, since the name tells the process id, which a program has only once it runs.
base::Result<Recorded> record(collect::RecordOptions options, const Flags& flags) {
  TEPHRA_CHECK_OK(base::make_folder(flags.folder));
  options.output.path = fmt::format("{}/.recording-{}.perf.data", flags.folder, ::getpid());
  const double cpu_before = cpu_seconds_of(options.target);
  // A process may be gone, or be called otherwise, once it was recorded.
  const bool program = options.target.records_program();
  const Subject before = program ? Subject{} : subject_of(options.target, flags, {});
  Recorded recorded;
  auto summary = collect::record(options, progress_on_terminal(flags.input.quiet));
  if (!summary) return keep_salvaged(std::move(summary).error(), options, file_stem(flags, before));
  recorded.summary = std::move(summary).value();
  recorded.cpu_seconds = cpu_seconds_of(options.target) - cpu_before;
  if (recorded.summary.start_error != 0) return recorded;
  if (recorded.summary.samples == 0) {
    ::unlink(options.output.path.c_str());
    return recorded;
  }
  recorded.stem = file_stem(flags, program ? subject_of(options.target, flags, recorded.summary) : before);
  if (::rename(options.output.path.c_str(), (recorded.stem + ".perf.data").c_str()) != 0) {
    return base::system_error("cannot write", recorded.stem + ".perf.data", errno);
  }
  return recorded;
}

// Why nothing was sampled, and what to try instead.
base::Error explain_no_samples(const collect::RecordOptions& options, const Recorded& recorded) {
  const collect::RecordSummary& summary = recorded.summary;
  const double cpu_seconds = recorded.cpu_seconds;
  const std::string rate =
      options.events[0].frequency ? fmt::format("{} Hz", *options.events[0].frequency) : "this period";
  const auto& target = options.target;
  if (cpu_seconds > 0.2 && summary.event_name.ends_with(":u")) {
    return base::failed(
        "no samples", "",
        fmt::format("the {:.1f} s of CPU were used in the kernel, which this user may not sample", cpu_seconds),
        "Run as root or with CAP_PERFMON, or have root run 'sysctl kernel.perf_event_paranoid=1'.");
  }
  if (target.whole_cpus()) {
    return base::failed("no samples", "", fmt::format("{:.3f} s are too short at {}", summary.seconds, rate),
                        "Try a longer -d, for example -d 10.");
  }
  if (cpu_seconds > 0.2) {
    return base::failed("no samples", "",
                        fmt::format("the event {} does not count here, though {:.1f} s of CPU were used",
                                    summary.event_name, cpu_seconds),
                        "Try: tephra record -e cpu-clock -g, then tephra flame.");
  }
  if (target.records_program()) {
    return base::failed("no samples", "",
                        fmt::format("the program used {:.3f} s of CPU in {:.3f} s, too little to be sampled at {}",
                                    cpu_seconds, summary.seconds, rate),
                        summary.seconds < 0.5 ? "Try: tephra profile -f 10000 -- PROGRAM."
                                              : "It mostly waited. Try: tephra profile -t offcpu -- PROGRAM.");
  }
  if (summary.target_exited) {
    return base::failed("no samples", "", "the process ended before it was sampled",
                        "Try: tephra profile -- PROGRAM, which profiles it from its start.");
  }
  if (cpu_seconds >= 0.01) {
    return base::failed("no samples", "",
                        fmt::format("it used {:.2f} s of CPU in {:.1f} s, too little to be sampled at {}", cpu_seconds,
                                    summary.seconds, rate),
                        "Try -f 10000, or a longer -d; threads that end within a sample's time are seen with -a. Where "
                        "it waits: -t offcpu.");
  }
  return base::failed("no samples", "",
                      fmt::format("what was profiled was idle: it used no CPU in {:.1f} s", summary.seconds),
                      "Try while it is busy, with a longer -d, or the whole machine: tephra profile -a.");
}

base::Error nothing_recorded(const collect::RecordOptions& options, const std::vector<ShownType>& types,
                             const Recorded& recorded) {
  const auto reason = [&](const ShownType& shown) {
    const auto own = shown.type->nothing_seen;
    return own != nullptr ? own(recorded.summary.seconds) : explain_no_samples(options, recorded);
  };
  if (types.size() == 1) return reason(types[0]);
  std::string why;
  for (const ShownType& shown : types) {
    why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", shown.type->name, reason(shown).why);
  }
  return base::failed("nothing was recorded of any type", "", why, reason(types[0]).fix);
}

base::Result<int> record_and_draw(const collect::RecordOptions& options, const std::vector<ShownType>& types,
                                  const Flags& flags) {
  const bool folder_is_new = ::access(flags.folder.c_str(), F_OK) != 0;
  const auto recorded = record(options, flags);
  // Nothing was written, so nothing is left: this removes the folder only if it is empty.
  if (folder_is_new && (!recorded || recorded->stem.empty())) ::rmdir(flags.folder.c_str());
  if (!recorded) return own_failure(options.target, recorded.error());
  if (recorded->summary.start_error != 0) return report_start_error(options.target, recorded->summary);
  if (recorded->stem.empty()) return nothing_recorded(options, types, *recorded);
  const auto drawn = draw_profile(recorded->stem, types, flags.input);
  if (!drawn) return own_failure(options.target, drawn.error());
  show_profile(*drawn, types, recorded->stem, flags.input);
  const bool bad = std::ranges::any_of(
      *drawn, [](const DrawnType& each) { return each.input.verdict.grade != analysis::Grade::kGood; });
  if (flags.input.strict && bad) return kExitBadVerdict;
  // A program that was ended because the profile was done did not fail.
  const bool done_early = recorded->summary.interrupted || recorded->summary.done_early;
  return done_early ? kExitDone : recorded->summary.program_status;
}

base::Result<int> profile(std::span<const std::string> arguments) {
  auto [words, program] = split_program(arguments, kOptionsWithValue);
  Flags flags;
  const auto parser = make_parser("profile", kSummary, kExamples);
  declare(*parser, flags);
  TEPHRA_TRY(const bool go_on, parse(*parser, words));
  if (!go_on) return kExitDone;
  std::vector<ShownType> types;
  auto wanted = record_options(flags, types, program);
  if (!wanted) return own_failure({.command = program}, wanted.error());
  collect::RecordOptions& options = *wanted;
  options.command_line = {"tephra", "profile"};
  options.command_line.insert(options.command_line.end(), arguments.begin(), arguments.end());
  if (!flags.input.quiet) options.on_note = note_on_terminal();
  return record_and_draw(options, types, flags);
}

}  // namespace

extern const Command kProfileCommand{"profile", "profile a program and draw a flame graph, in one go", profile};

}  // namespace tephra::cli
