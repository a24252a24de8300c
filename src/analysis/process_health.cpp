#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/abilities.h"
#include "analysis/health.h"
#include "base/names.h"
#include "base/units.h"

namespace tephra::analysis {
namespace {

using kernel::MachineFacts;
using symbols::ModuleFacts;
using symbols::ProcessFacts;
using Level = Finding::Level;
using Modules = std::vector<const ModuleFacts*>;

constexpr size_t kNamedModules = 4;

template <class Predicate>
Modules modules_where(const ProcessFacts& facts, Predicate predicate) {
  Modules chosen;
  for (const ModuleFacts& module : facts.modules) {
    if (predicate(module)) chosen.push_back(&module);
  }
  return chosen;
}

// "libc.so.6, libm.so.6 and 3 more"
std::string list_of(const Modules& modules) {
  std::string text;
  for (size_t i = 0; i < std::min(modules.size(), kNamedModules); ++i) {
    text += (i == 0 ? "" : ", ") + std::string(base::path_base_name(modules[i]->path));
  }
  return modules.size() <= kNamedModules ? text : fmt::format("{} and {} more", text, modules.size() - kNamedModules);
}

std::string files_text(size_t count) { return count == 1 ? "1 file" : fmt::format("{} files", count); }

// ---- the process itself

void judge_state(const ProcessFacts& facts, std::vector<Finding>& out) {
  if (facts.kernel_thread) {
    out.push_back({"state", Level::kLimited, "a thread of the kernel", "it has no code of its own to name",
                   "tephra profile -a shows what it does, where the kernel may be sampled"});
  } else if (facts.state == 'Z' || facts.state == 'X') {
    out.push_back({"state", Level::kMissing, "a zombie: it has ended, and its parent has not asked for its status",
                   "all of it: there is nothing left to profile", "start it again: tephra profile -- PROGRAM"});
  } else if (facts.ended) {
    out.push_back({"state", Level::kMissing, "it ended while it was looked at", "all of it",
                   "profile it from its start: tephra profile -- PROGRAM"});
  } else if (facts.state == 'T') {
    out.push_back({"state", Level::kLimited, "stopped by a signal", "samples: it does not run",
                   fmt::format("kill -CONT {}", facts.pid)});
  } else if (facts.tracer != 0 || facts.state == 't') {
    out.push_back({"state", Level::kLimited, fmt::format("traced by process {}", facts.tracer),
                   "its own pace: the tracer may hold or slow it", "detach the debugger or strace"});
  }
}

void judge_permission(const ProcessFacts& facts, const MachineFacts& machine, std::vector<Finding>& out) {
  if (facts.event.works) {
    out.push_back({"permission", Level::kGood, "you may sample it", "", ""});
  } else {
    const bool machine_refuses = !machine.events.user.works;
    out.push_back({"permission", Level::kMissing,
                   machine_refuses ? "no event is to be had here, see above"
                                   : fmt::format("its events are refused: {}", facts.event.reason),
                   "every profile of it",
                   machine_refuses ? "as for cpu profiles above"
                                   : fmt::format("run as root, as user {}, or with CAP_PERFMON", facts.uid)});
  }
  if (!facts.maps_readable) {
    out.push_back({"memory map", Level::kMissing, fmt::format("/proc/{}/maps is not yours to read", facts.pid),
                   "the names of all its functions", "run as root or with CAP_SYS_PTRACE"});
  }
}

void judge_threads(const ProcessFacts& facts, const MachineFacts& machine, std::vector<Finding>& out) {
  constexpr uint64_t kOthers = 64;  // files that a recorder has open besides
  const uint64_t needed = facts.threads * std::max<size_t>(1, machine.cpus) + kOthers;
  if (needed <= machine.limits.open_files_most) return;
  out.push_back({"threads", Level::kLimited,
                 fmt::format("{} threads on {} CPUs need {} open files, and {} are allowed", facts.threads,
                             machine.cpus, needed, machine.limits.open_files_most),
                 "profiles of the whole process",
                 fmt::format("as root: prlimit --nofile={} tephra profile -p {}", needed, facts.pid)});
}

void judge_container(const ProcessFacts& facts, std::vector<Finding>& out) {
  if (!facts.container.kind.empty()) {
    out.push_back(
        {"container", Level::kGood,
         fmt::format("{} {}{}", facts.container.kind, facts.container.id.substr(0, 12),
                     facts.other_pid_namespace ? fmt::format(", where it is process {}", facts.inner_pid) : ""),
         "", ""});
  } else if (facts.other_pid_namespace) {
    out.push_back(
        {"container", Level::kGood, fmt::format("a PID namespace, where it is process {}", facts.inner_pid), "", ""});
  }
}

// ---- its files

void judge_files(const ProcessFacts& facts, std::vector<Finding>& out) {
  // A recorder reads them as we do: as the kernel holds them, and keeps what it finds.
  const auto elsewhere =
      modules_where(facts, [](const auto& m) { return m.readable && (m.deleted || !m.found_by_path); });
  if (!elsewhere.empty()) {
    out.push_back({"files", Level::kGood,
                   fmt::format("{} deleted, replaced or not found by path from here ({}): names are taken from the "
                               "process itself while recording",
                               files_text(elsewhere.size()), list_of(elsewhere)),
                   "", ""});
  }
  const auto gone = modules_where(facts, [](const auto& m) { return !m.readable && m.deleted; });
  if (!gone.empty()) {
    out.push_back({"files", Level::kLimited,
                   fmt::format("{} deleted or replaced since the start: {}", files_text(gone.size()), list_of(gone)),
                   "the names of their functions",
                   "run as root, who can read them, or restart the process, so that it runs what is on disk"});
  }
  const auto unread = modules_where(facts, [](const auto& m) { return !m.readable && !m.deleted; });
  if (!unread.empty()) {
    out.push_back({"files", Level::kLimited,
                   fmt::format("{} could not be read: {}", files_text(unread.size()), list_of(unread)),
                   "the names of their functions", "run as root, or make them readable"});
  }
}

// The command that fetches the debug information of one file to where it is looked for.
std::string debuginfod_fix(const ModuleFacts& module) {
  const std::string id = module.build_id.hex();
  return fmt::format("install -D $(debuginfod-find debuginfo {}) /usr/lib/debug/.build-id/{}/{}.debug", id,
                     id.substr(0, 2), id.substr(2));
}

std::string apt_fix(const std::set<std::string>& packages) {
  std::string fix = "apt install";
  bool from_debug_archive = false;
  for (const std::string& package : packages) {
    fix += " " + package;
    from_debug_archive = from_debug_archive || package.ends_with("-dbgsym");
  }
  return from_debug_archive ? fix + " (from the archive debian-debug; Ubuntu: ddebs)" : fix;
}

// The commands that bring the debug information of these files.
std::string debug_fix(const ProcessFacts& facts, const Modules& modules) {
  std::set<std::string> packages;
  const ModuleFacts* of_no_package = nullptr;
  for (const ModuleFacts* module : modules) {
    if (!module->debug_package.empty()) {
      packages.insert(module->debug_package);
    } else if (of_no_package == nullptr) {
      of_no_package = module;
    }
  }
  std::string fix;
  if (!packages.empty()) fix = apt_fix(packages);
  if (of_no_package != nullptr) {
    const bool fedora = facts.distribution == symbols::Distribution::kFedora && !of_no_package->program;
    fix += fix.empty() ? "" : "; ";
    fix += fedora ? fmt::format("dnf debuginfo-install $(rpm -qf {})", of_no_package->path)
                  : fmt::format("build {} with -g and do not strip it", base::path_base_name(of_no_package->path));
  }
  if (facts.debuginfod && !modules.empty() && !modules.front()->build_id.empty()) {
    fix += "; or " + debuginfod_fix(*modules.front());
  }
  return fix;
}

void judge_names(const ProcessFacts& facts, std::vector<Finding>& out) {
  const auto readable = modules_where(facts, [](const auto& m) { return m.readable; });
  if (readable.empty()) return;
  const auto nameless =
      modules_where(facts, [](const auto& m) { return m.readable && m.names != ModuleFacts::Names::kAll && !m.go; });
  const auto lineless = modules_where(facts, [](const auto& m) {
    return m.readable && !m.debug_info && (m.names == ModuleFacts::Names::kAll || m.go);
  });
  if (nameless.empty()) {
    out.push_back(
        {"names", Level::kGood, fmt::format("{} with all function names", files_text(readable.size())), "", ""});
  } else {
    out.push_back(
        {"names", Level::kLimited,
         fmt::format("{} of {} stripped: {}", nameless.size(), files_text(readable.size()), list_of(nameless)),
         "names of functions that are not exported, source lines, inlined functions", debug_fix(facts, nameless)});
  }
  if (!lineless.empty()) {
    out.push_back({"source lines", Level::kLimited,
                   fmt::format("{} without debug information: {}", files_text(lineless.size()), list_of(lineless)),
                   "source lines and inlined functions", debug_fix(facts, lineless)});
  }
}

bool keeps_frames(const ModuleFacts& module) {
  return module.go || (module.frames.functions > 0 && objects::keeps_frame_pointers(module.frames));
}

// "kept in server itself, " where it is.
std::string program_text(const Modules& modules) {
  for (const ModuleFacts* module : modules) {
    if (module->program && keeps_frames(*module)) {
      return fmt::format("kept in {} itself, ", base::path_base_name(module->path));
    }
  }
  return {};
}

// What `--call-graph auto` takes for this process.
void judge_stacks(const Modules& without, const MachineFacts& machine, std::vector<Finding>& out) {
  const kernel::Trial& walks = machine.stack_walks;
  if (walks.works) {
    out.push_back({"stacks", Level::kGood,
                   "are walked in the kernel by call-frame tables (--call-graph auto takes bpf)", "", ""});
    return;
  }
  const std::string why = fmt::format("they cannot be walked in the kernel ({})", walks.reason);
  // As collect/target_frames.h has it.
  const bool frameless =
      std::any_of(without.begin(), without.end(), [](const auto* m) { return !objects::is_leaf_library(m->path); });
  out.push_back(
      {"stacks", Level::kLimited,
       fmt::format("{}: --call-graph auto takes {}", why, frameless ? "copies of them (dwarf)" : "frame pointers (fp)"),
       frameless ? "deep stacks are cut, and recordings are large" : "callers of code without frame pointers",
       "run as root or with CAP_BPF and CAP_PERFMON, on Linux 5.17 or newer"});
}

void judge_frames(const ProcessFacts& facts, const MachineFacts& machine, std::vector<Finding>& out) {
  const auto known = modules_where(facts, [](const auto& m) { return m.readable && (m.go || m.frames.functions > 0); });
  if (known.empty()) return;
  Modules without = known;
  std::erase_if(without, [](const ModuleFacts* m) { return keeps_frames(*m); });
  judge_stacks(without, machine, out);
  if (without.empty()) {
    out.push_back({"frame pointers", Level::kGood, fmt::format("kept in {}", files_text(known.size())), "", ""});
  } else if (machine.stack_walks.works) {
    out.push_back({"frame pointers", Level::kGood,
                   program_text(known) + fmt::format("not kept in {} of {} ({}), and not needed here", without.size(),
                                                     files_text(known.size()), list_of(without)),
                   "", ""});
  } else {
    const std::string other = kUnwindsStackCopies ? "or tephra profile --call-graph dwarf"
                                                  : "or tephra record --call-graph dwarf, and read it with perf";
    out.push_back({"frame pointers", Level::kLimited,
                   program_text(known) + fmt::format("not kept in {} of {}: {}", without.size(),
                                                     files_text(known.size()), list_of(without)),
                   "callers: stacks that pass through there end early or skip one",
                   "build with -fno-omit-frame-pointer, " + other});
  }
  const auto bare = modules_where(facts, [](const auto& m) {
    return m.readable && !m.go && m.frames.places > 0 && m.frames.described * 10 < m.frames.places * 9;
  });
  if (bare.empty()) {
    out.push_back({"call-frame tables", Level::kGood, fmt::format("in {}", files_text(known.size())), "", ""});
  } else {
    out.push_back({"call-frame tables", Level::kLimited, fmt::format("not for all code of {}", list_of(bare)),
                   "unwinding without frame pointers (--call-graph dwarf) there",
                   "build with -fasynchronous-unwind-tables"});
  }
}

// ---- code made at run time

struct RuntimeAdvice {
  std::string_view name;
  std::string_view fix;
};
constexpr RuntimeAdvice kRuntimeAdvice[] = {
    {"java",
     "java -XX:+PreserveFramePointer …; names (JDK 17 and later) are asked for while recording, as jcmd PID "
     "Compiler.perfmap would"},
    {"node", "node --perf-basic-prof --interpreted-frames-native-stack …"},
    {"dotnet", "DOTNET_PerfMapEnabled=1 in the environment of the program"},
    {"ruby", "ruby --yjit-perf … (3.3 and later)"},
};

std::string with_pid(std::string_view text, pid_t pid) {
  std::string filled(text);
  if (const size_t at = filled.find("PID"); at != std::string::npos) filled.replace(at, 3, std::to_string(pid));
  return filled;
}

void judge_python(const symbols::Runtime& python, const ProcessFacts& facts, std::vector<Finding>& out) {
  if (!facts.perf_map.empty()) return;
  int minor = 0;
  if (python.version.starts_with("3.")) minor = std::atoi(python.version.c_str() + 2);
  constexpr int kFirstWithMaps = 12;
  out.push_back({"python", Level::kLimited,
                 fmt::format("python {}, which shows as its interpreter's functions", python.version),
                 "names of Python functions",
                 minor >= kFirstWithMaps ? "start it with: python3 -X perf …"
                                         : "Python 3.12 or later, started with: python3 -X perf …"});
}

void judge_made_code(const ProcessFacts& facts, std::vector<Finding>& out) {
  for (const symbols::Runtime& runtime : facts.runtimes) {
    if (runtime.name == "python") judge_python(runtime, facts, out);
    if (runtime.name == "go") out.push_back({"go", Level::kGood, "keeps frame pointers and its own names", "", ""});
  }
  if (facts.unnamed_code_bytes == 0) return;
  const std::string size = base::bytes_text(facts.unnamed_code_bytes);
  const bool has_map = !facts.perf_map.empty() || !facts.jitdump.empty();
  const std::string& map = facts.perf_map.empty() ? facts.jitdump : facts.perf_map;
  if (has_map && kReadsJitMaps) {
    out.push_back(
        {"made code", Level::kGood, fmt::format("{} of code made at run time, named by {}", size, map), "", ""});
    return;
  }
  if (has_map) {
    out.push_back({"made code", Level::kLimited, fmt::format("{} of code made at run time, named by {}", size, map),
                   "its names: this version does not read such maps", "none yet in tephra; perf reads them"});
    return;
  }
  std::string fix = fmt::format("let its runtime write /tmp/perf-{}.map", facts.inner_pid);
  for (const RuntimeAdvice& advice : kRuntimeAdvice) {
    for (const symbols::Runtime& runtime : facts.runtimes) {
      if (runtime.name == advice.name) fix = with_pid(advice.fix, facts.pid);
    }
  }
  out.push_back({"made code", Level::kLimited, fmt::format("{} of code made at run time, without a map of names", size),
                 "the names of that code", fix});
}

}  // namespace

std::vector<Finding> judge_process(const ProcessFacts& facts, const MachineFacts& machine) {
  std::vector<Finding> out;
  judge_state(facts, out);
  if (facts.kernel_thread || facts.ended || facts.state == 'Z' || facts.state == 'X') return out;
  judge_permission(facts, machine, out);
  judge_container(facts, out);
  judge_threads(facts, machine, out);
  judge_names(facts, out);
  judge_frames(facts, machine, out);
  judge_files(facts, out);
  judge_made_code(facts, out);
  return out;
}

}  // namespace tephra::analysis
