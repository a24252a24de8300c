#include "cli/target_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/recording.h"
#include "kernel/cgroups.h"
#include "kernel/containers.h"
#include "kernel/procfs.h"
#include "kernel/users.h"

namespace tephra::cli {
namespace {

base::Status set_cgroups(const std::string& text, collect::Target& target) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, comma - begin);
    TEPHRA_TRY(std::string folder, kernel::cgroup_folder(name));
    target.cgroups.push_back({name, std::move(folder)});
    begin = comma + 1;
  }
  return {};
}

// By its control group, which also holds what it starts later; by its processes where the group is out of reach.
base::Status set_container(const std::string& text, collect::Target& target) {
  TEPHRA_TRY(const kernel::Container container, kernel::find_container(text));
  if (container.cgroup.empty())
    target.processes = container.processes;
  else
    target.cgroups.push_back({text, container.cgroup});
  return {};
}

base::Status check_kinds(const TargetFlags& flags, const collect::Target& target, const char* thread_option) {
  const int kinds = !flags.processes.empty() + !flags.threads.empty() + !flags.user.empty() + !flags.cgroups.empty() +
                    !flags.container.empty();
  if (kinds > 1) {
    return base::usage_error(
        fmt::format("only one of -p, {}, -u, -G and --container can be recorded at a time", thread_option), "", "",
        "Leave the others out, or record everything with -a and select when reading.");
  }
  // perf takes -a beside -G; it says the same.
  const bool tasks = !flags.processes.empty() || !flags.threads.empty() || !flags.user.empty();
  if (flags.all_cpus && tasks) {
    return base::usage_error(
        fmt::format("-a records everything, so -p, {} and -u have no place beside it", thread_option), "", "",
        "Leave one out.");
  }
  if (target.empty()) {
    return base::usage_error("nothing to record", "", "",
                             fmt::format("Name a program (-- ./program), a process (-p PID), a thread ({} TID), a user "
                                         "(-u), a control group (-G), a container (--container) or everything (-a).",
                                         thread_option));
  }
  return {};
}

base::Status set_cpus(const std::string& text, collect::Target& target) {
  const auto cpus = kernel::parse_cpu_list(text);
  if (!cpus) return base::usage_error("not a list of CPUs", text, "", "Write for example -C 0-3,8.");
  const auto online = kernel::online_cpus();
  for (const int cpu : *cpus) {
    if (std::find(online.begin(), online.end(), cpu) == online.end()) {
      return base::usage_error("no such CPU", std::to_string(cpu), "",
                               fmt::format("Those online are {}.", kernel::online_cpu_list()));
    }
  }
  target.cpus = *cpus;
  // perf's rule: CPUs without tasks mean all that runs on them.
  if (!target.records_tasks() && target.cgroups.empty()) target.all_cpus = true;
  return {};
}

}  // namespace

CLI::Option* joined(CLI::Option* option) {
  return option->multi_option_policy(CLI::MultiOptionPolicy::Join)->delimiter(',')->allow_extra_args(false);
}

void TargetFlags::declare(CLI::App& parser) {
  parser.add_flag("-a,--all-cpus", all_cpus, "everything on the machine");
  joined(parser.add_option("-p,--pid", processes, "running processes, with their threads"))->type_name("PID[,PID]");
  parser.add_option("-u,--uid", user, "all processes of a user, by name or number")->type_name("USER");
  joined(parser.add_option("-G,--cgroup", cgroups, "all that runs in these control groups"))->type_name("NAME[,NAME]");
  parser.add_option("--container", container, "all that runs in a container, by its id (or the start of it) or name")
      ->type_name("ID|NAME");
  joined(parser.add_option("-C,--cpu", cpus, "only on these CPUs, for example 0-3,8"))->type_name("CPUS");
  parser.add_flag("-i,--no-inherit", no_inherit, "leave out child processes and new threads");
}

base::Result<collect::Target> find_target(const TargetFlags& flags, std::vector<std::string> command,
                                          const char* thread_option) {
  collect::Target target;
  target.command = std::move(command);
  target.all_cpus = flags.all_cpus && flags.cgroups.empty() && flags.container.empty();
  target.inherit = !flags.no_inherit;
  if (!flags.processes.empty()) {
    TEPHRA_TRY(target.processes, id_list(flags.processes, "-p"));
  }
  if (!flags.threads.empty()) {
    TEPHRA_TRY(target.threads, id_list(flags.threads, thread_option));
  }
  if (!flags.user.empty()) {
    TEPHRA_TRY(target.user, kernel::user_id(flags.user));
  }
  if (!flags.cgroups.empty()) TEPHRA_CHECK_OK(set_cgroups(flags.cgroups, target));
  if (!flags.container.empty()) TEPHRA_CHECK_OK(set_container(flags.container, target));
  if (!flags.cpus.empty()) TEPHRA_CHECK_OK(set_cpus(flags.cpus, target));
  TEPHRA_CHECK_OK(check_kinds(flags, target, thread_option));
  return target;
}

}  // namespace tephra::cli
