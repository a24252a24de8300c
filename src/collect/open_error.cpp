#include "collect/open_error.h"

#include <fmt/format.h>

#include <cerrno>

#include "kernel/grant.h"
#include "kernel/privileges.h"
#include "kernel/procfs.h"

namespace tephra::collect {
namespace {

using kernel::EventScope;
using kernel::Privileges;

const std::string& grant() {
  static const std::string text = fmt::format("'{}' on the tephra program", kernel::kGrantCommand);
  return text;
}

// Whether the kernel lets us count nothing at all, not even nothing in our own process.
bool refused_altogether() {
  perf_event_attr attr = kernel::empty_attr();
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  return !kernel::open_event(attr, EventScope::task(0, -1));
}

base::Error all_refused(const Privileges& held, int error_number) {
  const std::string way_out =
      "Where none of that can be had, the way out is sampling from inside the process, which a later version of tephra "
      "brings.";
  if (error_number == ENOSYS && !held.filtered) {
    return base::failed("cannot record", "", "this kernel was built without perf events", way_out);
  }
  if (held.filtered || error_number == ENOSYS) {
    return base::failed("cannot record", "", "a seccomp filter, as containers have, refuses perf_event_open",
                        "Start the container with '--cap-add PERFMON --security-opt seccomp=unconfined', or with a "
                        "seccomp profile that allows perf_event_open; or run tephra on the host with --container. " +
                            way_out);
  }
  return base::failed(
      "cannot record", "",
      fmt::format("the kernel refuses perf_event_open to this user (perf_event_paranoid is {})", held.paranoid),
      fmt::format("Run as root, have root run 'sysctl kernel.perf_event_paranoid=2' (own processes, user code) or "
                  "{}. ",
                  grant()) +
          way_out);
}

base::Error no_rights(const std::string& what, const Privileges& held, int enough) {
  return base::failed("cannot record " + what, "",
                      fmt::format("no permission (perf_event_paranoid is {})", held.paranoid),
                      fmt::format("Run as root or with CAP_PERFMON ({}), or have root run 'sysctl "
                                  "kernel.perf_event_paranoid={}'.",
                                  grant(), enough));
}

base::Error foreign_task(pid_t tid) {
  return base::failed(fmt::format("cannot observe process {}", tid), "", "it belongs to another user",
                      "Run as that user, as root, or with CAP_PERFMON.");
}

base::Error explain_refusal(const PlannedEvent& event, const EventScope& scope, int error_number) {
  const Privileges held = kernel::privileges();
  const std::string& name = event.spec.name;
  if (refused_altogether()) return all_refused(held, error_number);
  if (scope.cgroup_fd >= 0 || scope.tid == -1) return no_rights("everything on the CPUs", held, 0);
  if (event.spec.tracepoint() && !held.may_read_raw_tracepoints()) return no_rights(name, held, -1);
  if (!held.perfmon && (event.attr.sample_type & PERF_SAMPLE_PHYS_ADDR || event.attr.namespaces)) {
    return base::failed(event.attr.namespaces ? "cannot record namespaces" : "cannot record physical addresses", "",
                        "that needs CAP_PERFMON, whatever perf_event_paranoid is",
                        fmt::format("Run as root, or have root run {}.", grant()));
  }
  if (!event.attr.exclude_kernel && !held.may_profile_kernel()) {
    return base::failed("cannot sample kernel code for " + name, "",
                        fmt::format("perf_event_paranoid is {}", held.paranoid),
                        kernel_code_fix() + " Or use the modifier :u.");
  }
  if (scope.tid > 0 && held.paranoid < 3) return foreign_task(scope.tid);
  return no_rights(name, held, 1);
}

base::Error explain_absence(const PlannedEvent& event, int error_number) {
  const auto& spec = event.spec;
  // A counter that is there and cannot do what is asked of it is refused in this way.
  const bool too_much_asked = error_number == EOPNOTSUPP || !event.uses_counter();
  if (too_much_asked && event.attr.sample_type & PERF_SAMPLE_BRANCH_STACK) {
    return base::failed("cannot record branches with", spec.name, "this machine, or this event, has no branch stacks",
                        "Leave out -b, -j and --call-graph lbr, or use them with -e cycles where there is a PMU.");
  }
  if (too_much_asked && event.attr.precise_ip > 0) {
    return base::failed("cannot sample precisely", spec.name, "this machine, or this event, has no precise samples",
                        "Leave out the modifier p, or write :P for as precise as can be.");
  }
  if (event.uses_counter()) {
    return base::failed("cannot count", spec.name,
                        "this machine has no such hardware counter (a virtual machine often has none)",
                        "Use -e cpu-clock, and see 'tephra doctor'.");
  }
  return base::system_error("cannot open event", spec.name, error_number, "This kernel or machine does not have it.");
}

base::Error too_many_files(const std::string& name, int error_number) {
  const bool whole_system = error_number == ENFILE;
  return base::system_error(
      "cannot open event", name, error_number,
      whole_system ? "The whole system has no descriptors left: have root raise 'sysctl fs.file-max'."
                   : fmt::format("One descriptor is needed per event, thread and CPU, and {} are allowed. Raise it "
                                 "with 'ulimit -n' (as root also 'sysctl fs.nr_open'), or record with -a.",
                                 kernel::open_file_limit()));
}

base::Error explain_settings(const PlannedEvent& event) {
  const perf_event_attr& attr = event.attr;
  const std::string& name = event.spec.name;
  if (attr.freq && attr.sample_freq > kernel::max_sample_rate()) {
    const uint64_t wanted = attr.sample_freq;
    return base::failed(
        fmt::format("cannot sample {} times a second", wanted), "",
        fmt::format("the limit is {}", kernel::max_sample_rate()),
        fmt::format("Sample less often, or have root run 'sysctl kernel.perf_event_max_sample_rate={}'.", wanted));
  }
  if (!event.spec.cpus.empty()) {
    return base::failed("cannot sample", name, "it counts for a whole socket, and cannot tell when it has",
                        "Choose an event of the CPUs' own counters.");
  }
  if (event.leader >= 0) {
    return base::system_error("cannot count in its group", name, EINVAL,
                              "The group may need more counters than there are: count fewer events at once, or let "
                              "it be broken up with {…}:W.");
  }
  if (attr.sample_type & PERF_SAMPLE_BRANCH_STACK) return explain_absence(event, EOPNOTSUPP);
  if (attr.sample_type & PERF_SAMPLE_STACK_USER) {
    return base::system_error("cannot open event", name, EINVAL, "Try --call-graph fp.");
  }
  if (event.uses_counter() && !event.spec.hardware()) {
    return base::system_error("cannot sample", name, EINVAL,
                              "Its source of events may only count, not sample, or not know these terms.");
  }
  if (event.spec.breakpoint()) {
    return base::system_error("cannot watch", name, EINVAL,
                              "The address must be a multiple of the length, which is 1, 2, 4 or 8.");
  }
  return base::system_error("cannot open event", name, EINVAL, "The kernel refuses these settings.");
}

}  // namespace

std::string kernel_code_fix() {
  return fmt::format(
      "For kernel code run as root or with CAP_PERFMON ({}), or have root run 'sysctl "
      "kernel.perf_event_paranoid=1'.",
      grant());
}

base::Error explain_open(const PlannedEvent& event, const EventScope& scope, int error_number) {
  const std::string& name = event.spec.name;
  switch (error_number) {
    case EACCES:
    case EPERM:
    case ENOSYS:
      return explain_refusal(event, scope, error_number);
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case EOPNOTSUPP:
      return explain_absence(event, error_number);
    case EMFILE:
    case ENFILE:
      return too_many_files(name, error_number);
    case EINVAL:
      return explain_settings(event);
    case ENOMEM:
      return base::system_error("cannot open event", name, error_number,
                                "The kernel has no memory for it. With --max-stack, lower 'sysctl "
                                "kernel.perf_event_max_stack'; else record fewer threads, or -a.");
    case ENOSPC:
      return base::failed("cannot watch", name, "all debug registers are in use", "Watch at most four addresses.");
    case EBUSY:
      return base::failed("cannot count", name, "another program has the counter for itself",
                          "End it, or use -e cpu-clock.");
    case EOVERFLOW:
      return base::failed("cannot record with stacks that deep", name, "the kernel's limit is lower",
                          "Lower --max-stack, or have root raise 'sysctl kernel.perf_event_max_stack'.");
    case E2BIG:
      return base::failed("cannot open event", name, "this kernel is too old for the options used");
    default:
      return base::system_error("cannot open event", name, error_number);
  }
}

base::Error explain_ring(bool whole_cpus, int cpu, int error_number) {
  if (error_number == EINVAL) {
    return base::usage_error("no such CPU", std::to_string(cpu), "",
                             fmt::format("There are {}.", kernel::online_cpu_list()));
  }
  PlannedEvent ring{kernel::software_event("dummy")};
  ring.spec.name = "a ring";
  ring.attr.exclude_kernel = 1;
  using Scope = EventScope;
  return explain_open(ring, whole_cpus ? Scope::everything(cpu) : Scope::task(0, cpu), error_number);
}

}  // namespace tephra::collect
