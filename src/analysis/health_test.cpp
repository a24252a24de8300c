#include "analysis/health.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "analysis/abilities.h"
#include "analysis/activity_advice.h"

namespace tephra::analysis {
namespace {

using kernel::MachineFacts;
using Level = Finding::Level;

// A machine where root gets everything.
MachineFacts good_machine() {
  MachineFacts facts;
  facts.release = "6.1.0";
  facts.machine = "x86_64";
  facts.cpus = 8;
  facts.user = {.uid = 0, .perfmon = true, .bpf = true, .ptrace = true, .syslog = true};
  facts.settings = {.paranoid = 2,
                    .kptr_restrict = 0,
                    .mlock_kb = 516,
                    .max_sample_rate = 100'000,
                    .cpu_time_percent = 25,
                    .max_stack = 127,
                    .nmi_watchdog = 0,
                    .ptrace_scope = 0,
                    .unprivileged_bpf_disabled = 2};
  facts.lockdown = "none";
  facts.kernel_addresses = true;
  facts.btf = true;
  facts.stack_walks = kernel::granted();
  facts.tracefs = {.in_kernel = true, .mounted_at = "/sys/kernel/tracing", .readable = true};
  facts.clock = {.source = "tsc", .available = {"tsc", "hpet"}};
  facts.limits = {.open_files = 1024, .open_files_most = 1 << 20, .locked_bytes = 8 << 20};
  facts.cgroups = {.v2_at = "/sys/fs/cgroup"};
  facts.events = {.user = kernel::granted(),
                  .kernel = kernel::granted(),
                  .every_process = kernel::granted(),
                  .cycles = kernel::granted(),
                  .cycles_count = true,
                  .sources = {"cpu", "kprobe", "software", "tracepoint", "uprobe"}};
  for (const char* name : {"perf_event", "tracepoint", "raw_tracepoint", "tp_btf", "fentry", "kprobe"}) {
    facts.bpf.programs.push_back({name, kernel::granted()});
  }
  for (const char* name : {"ring_buffer", "bpf_loop", "task_storage"}) {
    facts.bpf.features.push_back({name, kernel::granted()});
  }
  return facts;
}

// The same machine for a user without capabilities, as the kernel judges it.
MachineFacts for_plain_user(long paranoid) {
  MachineFacts facts = good_machine();
  facts.user = {.uid = 1000};
  facts.settings.paranoid = paranoid;
  facts.kernel_addresses = paranoid <= 1;
  const auto from = [&](long level) { return paranoid < level ? kernel::granted() : kernel::refused(EACCES); };
  facts.events.user = facts.events.cycles = from(3);
  facts.events.cycles_count = facts.events.cycles.works;
  facts.events.kernel = from(2);
  facts.events.every_process = from(1);
  facts.stack_walks = kernel::refused(EPERM);
  for (auto* rows : {&facts.bpf.programs, &facts.bpf.features}) {
    for (auto& row : *rows) row.trial = kernel::refused(EPERM);
  }
  return facts;
}

const Finding* find(const std::vector<Finding>& findings, std::string_view topic) {
  const auto found =
      std::find_if(findings.begin(), findings.end(), [&](const Finding& finding) { return finding.topic == topic; });
  return found == findings.end() ? nullptr : &*found;
}

Level level_of(const std::vector<Finding>& findings, std::string_view topic) {
  const Finding* finding = find(findings, topic);
  EXPECT_NE(finding, nullptr) << topic;
  return finding == nullptr ? Level::kMissing : finding->level;
}

// Every problem says what is lost and what to do; what is good says neither.
void check_form(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    EXPECT_FALSE(finding.topic.empty());
    EXPECT_FALSE(finding.what.empty()) << finding.topic;
    EXPECT_EQ(finding.lost.empty(), finding.level == Level::kGood) << finding.topic;
    EXPECT_EQ(finding.fix.empty(), finding.level == Level::kGood) << finding.topic;
  }
}

std::vector<Finding> judged(const MachineFacts& facts) {
  auto findings = judge_machine(facts);
  check_form(findings);
  return findings;
}

void expect_problem(const MachineFacts& facts, std::string_view topic, std::string_view what, std::string_view fix) {
  const auto findings = judged(facts);
  const Finding* finding = find(findings, topic);
  ASSERT_NE(finding, nullptr) << topic;
  EXPECT_NE(finding->level, Level::kGood) << topic;
  EXPECT_NE(finding->what.find(what), std::string::npos) << finding->what;
  EXPECT_NE(finding->fix.find(fix), std::string::npos) << finding->fix;
}

TEST(MachineHealth, RootOnAGoodMachineHasNoProblem) {
  const auto findings = judged(good_machine());
  for (const Finding& finding : findings) EXPECT_EQ(finding.level, Level::kGood) << finding.topic;
  EXPECT_TRUE(cpu_profiling_works(good_machine()));
}

TEST(MachineHealth, PerfmonIsEnoughForEvents) {
  MachineFacts facts = good_machine();
  facts.user = {.uid = 1000, .perfmon = true};
  facts.kernel_addresses = false;
  const auto findings = judged(facts);
  EXPECT_EQ(level_of(findings, "cpu profiles"), Level::kGood);
  EXPECT_EQ(level_of(findings, "kernel code"), Level::kGood);
  EXPECT_EQ(find(findings, "other users"), nullptr);
  EXPECT_EQ(level_of(findings, "kernel names"), Level::kLimited);
}

TEST(MachineHealth, PlainUserByParanoidLevel) {
  auto findings = judged(for_plain_user(2));
  EXPECT_EQ(level_of(findings, "cpu profiles"), Level::kGood);
  EXPECT_EQ(level_of(findings, "kernel code"), Level::kLimited);
  EXPECT_EQ(level_of(findings, "whole machine"), Level::kLimited);
  EXPECT_EQ(level_of(findings, "other users"), Level::kLimited);
  EXPECT_NE(find(findings, "kernel code")->fix.find("sysctl kernel.perf_event_paranoid=1"), std::string::npos);

  findings = judged(for_plain_user(1));
  EXPECT_EQ(level_of(findings, "kernel code"), Level::kGood);
  EXPECT_EQ(level_of(findings, "whole machine"), Level::kLimited);
  EXPECT_NE(find(findings, "whole machine")->fix.find("sysctl kernel.perf_event_paranoid=0"), std::string::npos);
  EXPECT_EQ(level_of(findings, "tracepoints"), Level::kLimited);

  findings = judged(for_plain_user(-1));
  EXPECT_EQ(level_of(findings, "whole machine"), Level::kGood);
  EXPECT_EQ(level_of(findings, "tracepoints"), Level::kGood);

  for (const long level : {3, 4}) {
    const MachineFacts facts = for_plain_user(level);
    findings = judged(facts);
    EXPECT_FALSE(cpu_profiling_works(facts));
    EXPECT_EQ(level_of(findings, "cpu profiles"), Level::kMissing);
    EXPECT_NE(find(findings, "cpu profiles")->what.find(std::to_string(level)), std::string::npos);
    // What follows from it is not told again.
    EXPECT_EQ(find(findings, "kernel code"), nullptr);
    EXPECT_EQ(find(findings, "hardware counters"), nullptr);
  }
}

TEST(MachineHealth, SeccompIsNamedAndNotTheParanoidLevel) {
  for (const int error : {EPERM, ENOSYS}) {
    MachineFacts facts = good_machine();
    facts.user.seccomp_filter = true;
    facts.user.container = {.kind = "docker", .id = "abc"};
    facts.events.user = facts.events.kernel = facts.events.every_process = facts.events.cycles = kernel::refused(error);
    facts.events.cycles_count = false;
    expect_problem(facts, "cpu profiles", "seccomp", "docker run --cap-add PERFMON");
    facts.user.container.kind = "kubernetes";
    expect_problem(facts, "cpu profiles", "seccomp", "seccompProfile");
    for (auto& row : facts.bpf.programs) row.trial = kernel::refused(error);
    for (auto& row : facts.bpf.features) row.trial = kernel::refused(error);
    expect_problem(facts, "bpf", "seccomp", "PERFMON");
  }
  MachineFacts facts = good_machine();
  facts.events.user = kernel::refused(ENOSYS);
  expect_problem(facts, "cpu profiles", "no perf events", "CONFIG_PERF_EVENTS");
  facts.events.user = kernel::refused(EACCES);
  facts.security_modules = "capability,selinux";
  expect_problem(facts, "cpu profiles", "selinux", "audit");
}

TEST(MachineHealth, KernelNamesByKptrRestrict) {
  MachineFacts facts = good_machine();
  facts.settings.kptr_restrict = 2;
  facts.kernel_addresses = false;
  expect_problem(facts, "kernel names", "kptr_restrict is 2", "sysctl kernel.kptr_restrict=1");
  facts = for_plain_user(2);
  facts.settings.kptr_restrict = 1;
  expect_problem(facts, "kernel names", "kptr_restrict is 1",
                 "sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1");
  facts.settings.kptr_restrict = 0;
  expect_problem(facts, "kernel names", "perf_event_paranoid is 2", "sysctl kernel.perf_event_paranoid=1");
}

TEST(MachineHealth, LockdownTracefsAndBtf) {
  MachineFacts facts = good_machine();
  facts.lockdown = "integrity";
  EXPECT_EQ(level_of(judged(facts), "lockdown"), Level::kGood);
  facts.lockdown = "confidentiality";
  expect_problem(facts, "lockdown", "confidentiality", "lockdown=integrity");
  facts = good_machine();
  facts.tracefs = {.in_kernel = true};
  expect_problem(facts, "tracepoints", "not mounted", "mount -t tracefs nodev /sys/kernel/tracing");
  facts.tracefs = {};
  expect_problem(facts, "tracepoints", "no tracefs", "CONFIG_TRACING");
  facts.tracefs = {.in_kernel = true, .mounted_at = "/sys/kernel/tracing"};
  expect_problem(facts, "tracepoints", "not yours", "mode=755");
  facts = good_machine();
  facts.btf = false;
  facts.bpf.programs[3].trial = kernel::useless("the kernel has no BTF");
  expect_problem(facts, "btf", "types", "CONFIG_DEBUG_INFO_BTF");
  expect_problem(facts, "bpf refused", "tp_btf (the kernel has no BTF)", "");
}

TEST(MachineHealth, KprobesThatCannotBeAttachedAreRefused) {
  MachineFacts facts = good_machine();
  std::erase(facts.events.sources, "kprobe");
  expect_problem(facts, "bpf refused", "kprobe", "");
  EXPECT_EQ(find(judged(facts), "bpf")->what.find("kprobe"), std::string::npos);
  facts = for_plain_user(2);
  expect_problem(facts, "bpf", "may not load", "CAP_BPF");
}

TEST(MachineHealth, HardwareCounters) {
  MachineFacts facts = good_machine();
  facts.events.cycles = kernel::refused(ENOENT);
  facts.events.cycles_count = false;
  facts.virtual_machine.hypervisor = true;
  expect_problem(facts, "hardware counters", "virtual machine has none", "virtual PMU");
  facts.virtual_machine.hypervisor = false;
  expect_problem(facts, "hardware counters", "No such file", "dmesg");
  facts.events.cycles = kernel::granted();
  expect_problem(facts, "hardware counters", "never counts", "");
  facts = good_machine();
  facts.settings.nmi_watchdog = 1;
  expect_problem(facts, "nmi watchdog", "one hardware counter", "sysctl kernel.nmi_watchdog=0");
}

TEST(MachineHealth, Limits) {
  MachineFacts facts = for_plain_user(2);
  facts.limits.open_files_most = 1024;
  expect_problem(facts, "open files", "1024", "LimitNOFILE");
  facts.settings.mlock_kb = 64;
  facts.limits.locked_bytes = 64 << 10;
  expect_problem(facts, "ring memory", "64", "sysctl kernel.perf_event_mlock_kb=516");
  facts.settings.max_sample_rate = 250;
  expect_problem(facts, "sample rate", "250", "sysctl kernel.perf_event_max_sample_rate=100000");
  facts.settings.cpu_time_percent = 1;
  expect_problem(facts, "sample time", "1 %", "sysctl kernel.perf_cpu_time_max_percent=25");
  facts.settings.max_stack = 16;
  expect_problem(facts, "stack depth", "16 frames", "sysctl kernel.perf_event_max_stack=127");
  EXPECT_EQ(find(judged(facts), "limits"), nullptr);
  // Off is not low.
  facts.settings.cpu_time_percent = 0;
  EXPECT_EQ(find(judged(facts), "sample time"), nullptr);
}

TEST(MachineHealth, Clock) {
  MachineFacts facts = good_machine();
  for (const char* fast : {"tsc", "kvm-clock", "arch_sys_counter"}) {
    facts.clock.source = fast;
    EXPECT_EQ(level_of(judged(facts), "clock"), Level::kGood) << fast;
  }
  facts.clock = {.source = "hpet", .available = {"hpet", "acpi_pm"}};
  expect_problem(facts, "clock", "unstable", "dmesg");
  facts.clock.available.push_back("tsc");
  expect_problem(facts, "clock", "hpet", "echo tsc >");
}

TEST(MachineHealth, PlacesAndNeighbours) {
  MachineFacts facts = good_machine();
  facts.settings.ptrace_scope = 1;
  EXPECT_EQ(find(judged(facts), "attaching"), nullptr);
  facts.user.ptrace = false;
  expect_problem(facts, "attaching", "ptrace_scope is 1", "sysctl kernel.yama.ptrace_scope=0");
  facts = good_machine();
  facts.user.user_namespace = true;
  expect_problem(facts, "user namespace", "counts for nothing", "outside");
  facts.user.pid_namespace = true;
  facts.user.container.kind = "podman";
  expect_problem(facts, "container", "podman", "--pid=host");
  facts = good_machine();
  facts.cgroups = {.v1 = true};
  expect_problem(facts, "control groups", "without perf_event", "mount -t cgroup2");
  facts.cgroups.v1_perf_event = true;
  EXPECT_EQ(level_of(judged(facts), "control groups"), Level::kGood);
  facts.virtual_machine = {.hypervisor = true, .vendor = "QEMU", .stolen_share = 0.1};
  expect_problem(facts, "virtual machine", "10.0 %", "host");
}

// ---- processes

symbols::ModuleFacts module(std::string path, uint64_t functions, uint64_t keeping) {
  symbols::ModuleFacts facts;
  facts.path = std::move(path);
  facts.code_bytes = 4096;
  facts.readable = facts.found_by_path = facts.debug_info = true;
  facts.names = symbols::ModuleFacts::Names::kAll;
  facts.frames = {.places = 100, .described = 100, .functions = functions, .keep_frame_pointer = keeping};
  return facts;
}

symbols::ProcessFacts good_process() {
  symbols::ProcessFacts facts;
  facts.pid = facts.inner_pid = 42;
  facts.comm = "server";
  facts.state = 'R';
  facts.threads = 4;
  facts.event = kernel::granted();
  facts.maps_readable = true;
  facts.modules = {module("/srv/server", 100, 90)};
  facts.modules[0].program = true;
  return facts;
}

void expect_problem(const symbols::ProcessFacts& facts, std::string_view topic, std::string_view what,
                    std::string_view fix, const MachineFacts& machine = good_machine()) {
  const auto findings = judge_process(facts, machine);
  check_form(findings);
  const auto matches = [&](const Finding& finding) {
    return finding.topic == topic && finding.level != Level::kGood && finding.what.find(what) != std::string::npos &&
           finding.fix.find(fix) != std::string::npos;
  };
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), matches)) << topic;
}

TEST(ProcessHealth, AWellBuiltProgramHasNoProblem) {
  const auto findings = judge_process(good_process(), good_machine());
  check_form(findings);
  for (const Finding& finding : findings) EXPECT_EQ(finding.level, Level::kGood) << finding.topic;
}

TEST(ProcessHealth, States) {
  auto facts = good_process();
  facts.state = 'T';
  expect_problem(facts, "state", "stopped", "kill -CONT 42");
  facts.state = 'S';
  facts.tracer = 7;
  expect_problem(facts, "state", "traced by process 7", "detach");
  facts.state = 'Z';
  expect_problem(facts, "state", "zombie", "start it again");
  EXPECT_EQ(judge_process(facts, good_machine()).size(), 1u);
  facts = good_process();
  facts.ended = true;
  facts.maps_readable = false;
  expect_problem(facts, "state", "ended", "from its start");
  EXPECT_EQ(find(judge_process(facts, good_machine()), "memory map"), nullptr);
}

TEST(ProcessHealth, PermissionAndThreads) {
  auto facts = good_process();
  facts.event = kernel::refused(EACCES);
  facts.uid = 33;
  facts.maps_readable = false;
  facts.modules.clear();
  expect_problem(facts, "permission", "Permission denied", "user 33");
  expect_problem(facts, "memory map", "/proc/42/maps", "CAP_SYS_PTRACE");
  facts = good_process();
  facts.threads = 200'000;
  expect_problem(facts, "threads", "200000 threads on 8 CPUs", "prlimit --nofile=1600064");
}

TEST(ProcessHealth, StrippedFilesNameTheirDebugPackages) {
  auto facts = good_process();
  facts.distribution = symbols::Distribution::kDebian;
  facts.modules.push_back(module("/usr/lib/libssl.so.3", 100, 90));
  facts.modules.back().names = symbols::ModuleFacts::Names::kExportsOnly;
  facts.modules.back().debug_info = false;
  facts.modules.back().package = "libssl3";
  facts.modules.back().debug_package = "libssl3-dbgsym";
  expect_problem(facts, "names", "1 of 2 files stripped: libssl.so.3", "apt install libssl3-dbgsym (from the archive");
  facts.modules[0].debug_info = false;
  expect_problem(facts, "source lines", "server", "build server with -g");
  facts.distribution = symbols::Distribution::kFedora;
  facts.modules.back().debug_package.clear();
  expect_problem(facts, "names", "libssl.so.3", "dnf debuginfo-install $(rpm -qf /usr/lib/libssl.so.3)");
  facts.debuginfod = true;
  const std::byte id[] = {std::byte{0xab}, std::byte{0xcd}, std::byte{0xef}};
  facts.modules.back().build_id = model::BuildId(id);
  expect_problem(facts, "names", "libssl.so.3",
                 "install -D $(debuginfod-find debuginfo abcdef) /usr/lib/debug/.build-id/ab/cdef.debug");
}

TEST(ProcessHealth, WhatAutoTakes) {
  auto facts = good_process();
  facts.modules.push_back(module("/lib/libc.so.6", 1000, 50));
  auto machine = good_machine();
  machine.stack_walks = kernel::granted();
  auto findings = judge_process(facts, machine);
  EXPECT_EQ(level_of(findings, "stacks"), Level::kGood);
  EXPECT_EQ(level_of(findings, "frame pointers"), Level::kGood);
  machine.stack_walks = kernel::useless("Operation not permitted");
  findings = judge_process(facts, machine);
  EXPECT_EQ(level_of(findings, "stacks"), Level::kLimited);
  EXPECT_NE(find(findings, "stacks")->what.find("(fp)"), std::string::npos);
  facts.modules.push_back(module("/lib/libstdc++.so.6", 1000, 50));
  findings = judge_process(facts, machine);
  EXPECT_NE(find(findings, "stacks")->what.find("(dwarf)"), std::string::npos);
}

TEST(ProcessHealth, FramePointersAndTables) {
  auto facts = good_process();
  facts.modules.push_back(module("/lib/libc.so.6", 1000, 50));
  EXPECT_EQ(level_of(judge_process(facts, good_machine()), "frame pointers"), Level::kGood);
  MachineFacts without_bpf = good_machine();
  without_bpf.stack_walks = kernel::refused(EPERM);
  expect_problem(facts, "frame pointers", "kept in server itself, not kept in 1 of 2 files: libc.so.6",
                 "-fno-omit-frame-pointer", without_bpf);
  facts.modules[0].frames.described = 40;
  expect_problem(facts, "call-frame tables", "server", "-fasynchronous-unwind-tables");
  // Go has its own tables and always keeps frame pointers.
  facts = good_process();
  facts.modules[0].go = true;
  facts.modules[0].frames = {.places = 100};
  EXPECT_EQ(level_of(judge_process(facts, good_machine()), "frame pointers"), Level::kGood);
}

TEST(ProcessHealth, FilesThatWereReplacedOrAreElsewhere) {
  auto facts = good_process();
  facts.modules[0].deleted = facts.modules[0].replaced = true;
  facts.modules[0].found_by_path = false;
  // Whoever can read them as the kernel holds them can record their names.
  EXPECT_EQ(level_of(judge_process(facts, good_machine()), "files"), Level::kGood);
  facts.modules[0].readable = false;
  expect_problem(facts, "files", "deleted or replaced", "root");
  facts.modules[0].readable = true;
  facts.modules[0].deleted = facts.modules[0].replaced = false;
  facts.other_mount_namespace = true;
  EXPECT_EQ(level_of(judge_process(facts, good_machine()), "files"), Level::kGood);
  facts.modules[0].readable = false;
  expect_problem(facts, "files", "could not be read", "root");
}

TEST(ProcessHealth, MadeCodeAndItsRuntimes) {
  auto facts = good_process();
  facts.unnamed_code_bytes = 1 << 20;
  facts.inner_pid = 9;
  expect_problem(facts, "made code", "1.00 MiB", "/tmp/perf-9.map");
  facts.runtimes = {{"node", ""}};
  expect_problem(facts, "made code", "without a map", "--perf-basic-prof");
  facts.runtimes = {{"java", ""}};
  expect_problem(facts, "made code", "without a map", "jcmd 42 Compiler.perfmap");
  facts.perf_map = "/tmp/perf-9.map";
  const Finding* made = nullptr;
  const auto findings = judge_process(facts, good_machine());
  made = find(findings, "made code");
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->level == Level::kGood, kReadsJitMaps);
  facts = good_process();
  facts.runtimes = {{"python", "3.11"}};
  expect_problem(facts, "python", "3.11", "Python 3.12 or later");
  facts.runtimes = {{"python", "3.13"}};
  expect_problem(facts, "python", "3.13", "start it with: python3 -X perf");
}

TEST(ProcessHealth, RuntimesAreToldByNames) {
  const auto name_of = [](const std::string& path) {
    const auto found = symbols::runtimes_of({module(path, 1, 1)});
    return found.empty() ? std::string() : found[0].name + " " + found[0].version;
  };
  EXPECT_EQ(name_of("/usr/lib/libpython3.11.so.1.0"), "python 3.11");
  EXPECT_EQ(name_of("/usr/bin/python3.12"), "python 3.12");
  EXPECT_EQ(name_of("/usr/bin/node"), "node ");
  EXPECT_EQ(name_of("/usr/bin/node_exporter"), "");
  EXPECT_EQ(name_of("/opt/jdk/lib/server/libjvm.so"), "java ");
  EXPECT_EQ(name_of("/usr/bin/cat"), "");
}

// ---- what fits

TEST(ActivityAdvice, FollowsWhatWasSeen) {
  const auto type_of = [](const kernel::ProcessActivity& activity) { return advise(activity, 42).type; };
  kernel::ProcessActivity activity;
  activity.seconds = 2;
  activity.looks = 40;
  EXPECT_EQ(type_of(activity), "offcpu");
  activity.user_seconds = 1.9;
  EXPECT_EQ(type_of(activity), "cpu");
  EXPECT_EQ(advise(activity, 42).text(), "busy (95 % of a CPU): tephra profile -t cpu -p 42.");
  activity.queued_seconds = 1.9;
  EXPECT_NE(advise(activity, 42).note.find("too small"), std::string::npos);
  activity.queued_seconds = 0;
  activity.minor_faults = 1'000'000;
  EXPECT_EQ(type_of(activity), "mem");
  activity.user_seconds = 0.1;
  activity.minor_faults = 0;
  activity.read_bytes = 200'000'000;
  activity.written_bytes = 0;
  EXPECT_EQ(type_of(activity), "io");
  activity.read_bytes = {};
  activity.blocked = 30;
  EXPECT_EQ(type_of(activity), "io");
}

TEST(ActivityAdvice, SaysSoWhenTheTypeIsNotThere) {
  kernel::ProcessActivity activity;
  activity.seconds = 2;
  activity.user_seconds = 0.06;
  const auto advice = advise(activity, 42);
  EXPECT_EQ(advice.seen, "mostly waiting (3 % of a CPU)");
  EXPECT_EQ(advice.exists, advice.text().find("this version has only") == std::string::npos);
  EXPECT_NE(advice.text().find("tephra profile -t offcpu -p 42"), std::string::npos);
}

}  // namespace
}  // namespace tephra::analysis
