#include "views/health_json.h"

#include "base/json_writer.h"

namespace tephra::views {
namespace {

using analysis::Finding;
using base::JsonWriter;

void write_findings(JsonWriter& json, std::span<const Finding> findings) {
  json.key("findings").begin_array();
  for (const Finding& finding : findings) {
    json.begin_object()
        .member("topic", finding.topic)
        .member("level", analysis::level_name(finding.level))
        .member("what", finding.what)
        .member("lost", finding.lost)
        .member("fix", finding.fix)
        .end_object();
  }
  json.end_array();
}

template <class T>
void write_optional(JsonWriter& json, std::string_view name, const std::optional<T>& value) {
  json.key(name);
  if (value) {
    json.value(*value);
  } else {
    json.null();
  }
}

void write_trial(JsonWriter& json, std::string_view name, const kernel::Trial& trial) {
  json.key(name).begin_object().member("works", trial.works);
  if (!trial.works) json.member("errno", trial.error).member("reason", trial.reason);
  json.end_object();
}

void write_trials(JsonWriter& json, std::string_view name, const std::vector<kernel::BpfTrials::Row>& rows) {
  json.key(name).begin_object();
  for (const auto& row : rows) write_trial(json, row.name, row.trial);
  json.end_object();
}

void write_container(JsonWriter& json, const kernel::ContainerMark& container) {
  json.key("container").begin_object().member("kind", container.kind).member("id", container.id).end_object();
}

void write_user(JsonWriter& json, const kernel::UserFacts& user) {
  json.key("user").begin_object();
  json.member("uid", user.uid).member("perfmon", user.perfmon).member("bpf", user.bpf).member("ptrace", user.ptrace);
  json.member("syslog", user.syslog).member("user_namespace", user.user_namespace);
  json.member("pid_namespace", user.pid_namespace).member("seccomp_filter", user.seccomp_filter);
  write_container(json, user.container);
  json.end_object();
}

void write_settings(JsonWriter& json, const kernel::KernelSettings& settings) {
  json.key("settings").begin_object();
  write_optional(json, "perf_event_paranoid", settings.paranoid);
  write_optional(json, "kptr_restrict", settings.kptr_restrict);
  write_optional(json, "perf_event_mlock_kb", settings.mlock_kb);
  write_optional(json, "perf_event_max_sample_rate", settings.max_sample_rate);
  write_optional(json, "perf_cpu_time_max_percent", settings.cpu_time_percent);
  write_optional(json, "perf_event_max_stack", settings.max_stack);
  write_optional(json, "nmi_watchdog", settings.nmi_watchdog);
  write_optional(json, "ptrace_scope", settings.ptrace_scope);
  write_optional(json, "unprivileged_bpf_disabled", settings.unprivileged_bpf_disabled);
  json.end_object();
}

void write_events(JsonWriter& json, const kernel::EventTrials& events) {
  json.key("events").begin_object();
  write_trial(json, "user", events.user);
  write_trial(json, "kernel", events.kernel);
  write_trial(json, "every_process", events.every_process);
  write_trial(json, "cycles", events.cycles);
  json.member("cycles_count", events.cycles_count);
  json.key("sources").begin_array();
  for (const std::string& source : events.sources) json.value(source);
  json.end_array().end_object();
}

void write_machine(JsonWriter& json, const kernel::MachineFacts& facts) {
  json.key("machine").begin_object();
  json.member("release", facts.release).member("architecture", facts.machine).member("cpus", facts.cpus);
  write_user(json, facts.user);
  write_settings(json, facts.settings);
  json.member("lockdown", facts.lockdown).member("security_modules", facts.security_modules);
  json.member("kernel_addresses", facts.kernel_addresses).member("btf", facts.btf);
  json.key("tracefs").begin_object().member("in_kernel", facts.tracefs.in_kernel);
  json.member("mounted_at", facts.tracefs.mounted_at).member("readable", facts.tracefs.readable).end_object();
  json.member("clock", facts.clock.source);
  json.key("virtual_machine").begin_object().member("hypervisor", facts.virtual_machine.hypervisor);
  json.member("vendor", facts.virtual_machine.vendor).member("stolen_share", facts.virtual_machine.stolen_share);
  json.end_object();
  json.key("limits").begin_object().member("open_files", facts.limits.open_files);
  json.member("open_files_most", facts.limits.open_files_most).member("locked_bytes", facts.limits.locked_bytes);
  json.end_object();
  json.key("cgroups").begin_object().member("v2_at", facts.cgroups.v2_at).member("v1", facts.cgroups.v1);
  json.member("v1_perf_event", facts.cgroups.v1_perf_event).end_object();
  write_events(json, facts.events);
  json.key("bpf").begin_object();
  write_trials(json, "programs", facts.bpf.programs);
  write_trials(json, "features", facts.bpf.features);
  json.member("stack_walks", facts.stack_walks.works);
  json.end_object().end_object();
}

std::string_view names_of(symbols::ModuleFacts::Names names) {
  switch (names) {
    case symbols::ModuleFacts::Names::kNone:
      return "none";
    case symbols::ModuleFacts::Names::kExportsOnly:
      return "exported";
    case symbols::ModuleFacts::Names::kAll:
      return "all";
  }
  return "";
}

void write_module(JsonWriter& json, const symbols::ModuleFacts& module) {
  json.begin_object().member("path", module.path).member("code_bytes", module.code_bytes);
  json.member("readable", module.readable).member("deleted", module.deleted).member("replaced", module.replaced);
  json.member("found_by_path", module.found_by_path).member("build_id", module.build_id.hex());
  json.member("names", names_of(module.names)).member("debug_info", module.debug_info);
  json.member("debug_file", module.debug_file).member("go", module.go);
  json.key("frames").begin_object().member("places", module.frames.places).member("described", module.frames.described);
  json.member("functions", module.frames.functions).member("keep_frame_pointer", module.frames.keep_frame_pointer);
  json.end_object().member("package", module.package).member("debug_package", module.debug_package).end_object();
}

void write_activity(JsonWriter& json, const ProcessHealth& process) {
  const auto& activity = *process.activity;
  json.key("activity").begin_object().member("seconds", activity.seconds);
  json.member("user_seconds", activity.user_seconds).member("system_seconds", activity.system_seconds);
  json.member("queued_seconds", activity.queued_seconds).member("threads", activity.threads);
  json.member("looks", activity.looks).member("running", activity.running).member("blocked", activity.blocked);
  json.member("waits", activity.waits).member("minor_faults", activity.minor_faults);
  json.member("major_faults", activity.major_faults);
  write_optional(json, "read_bytes", activity.read_bytes);
  write_optional(json, "written_bytes", activity.written_bytes);
  json.member("ended", activity.ended).end_object();
  if (!process.advice) return;
  json.key("advice").begin_object().member("seen", process.advice->seen).member("type", process.advice->type);
  json.member("exists", process.advice->exists).member("command", process.advice->command);
  json.member("note", process.advice->note).end_object();
}

void write_process(JsonWriter& json, const ProcessHealth& process) {
  const auto& facts = process.facts;
  json.key("process").begin_object().member("pid", facts.pid).member("inner_pid", facts.inner_pid);
  json.member("comm", facts.comm).member("state", std::string(1, facts.state)).member("tracer", facts.tracer);
  json.member("kernel_thread", facts.kernel_thread).member("threads", facts.threads).member("uid", facts.uid);
  write_container(json, facts.container);
  json.member("other_pid_namespace", facts.other_pid_namespace);
  json.member("other_mount_namespace", facts.other_mount_namespace);
  write_trial(json, "event", facts.event);
  json.member("maps_readable", facts.maps_readable);
  json.member("unnamed_code_bytes", facts.unnamed_code_bytes);
  json.member("perf_map", facts.perf_map).member("jitdump", facts.jitdump);
  json.key("runtimes").begin_array();
  for (const auto& runtime : facts.runtimes) {
    json.begin_object().member("name", runtime.name).member("version", runtime.version).end_object();
  }
  json.end_array().key("modules").begin_array();
  for (const auto& module : facts.modules) write_module(json, module);
  json.end_array();
  if (process.activity) write_activity(json, process);
  write_findings(json, process.findings);
  json.end_object();
}

}  // namespace

std::string health_json(const kernel::MachineFacts& machine, std::span<const Finding> findings,
                        const ProcessHealth* process) {
  std::string out;
  JsonWriter json(out, JsonWriter::Style::kPretty);
  json.begin_object().member("cpu_profiling_works", analysis::cpu_profiling_works(machine));
  write_findings(json, findings);
  write_machine(json, machine);
  if (process != nullptr) write_process(json, *process);
  json.end_object();
  out += '\n';
  return out;
}

}  // namespace tephra::views
