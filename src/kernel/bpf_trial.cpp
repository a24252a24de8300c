#include "kernel/bpf_trial.h"

#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <linux/version.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>

#include "base/file.h"
#include "kernel/btf_names.h"

namespace tephra::kernel {
namespace {

constexpr int kHelperLoop = 181;            // bpf_loop, since Linux 5.17
constexpr int kHelperTaskStorageGet = 156;  // bpf_task_storage_get, since Linux 5.11

base::FileDescriptor bpf_call(bpf_cmd command, bpf_attr& attr, size_t size) {
  return base::FileDescriptor(static_cast<int>(::syscall(SYS_bpf, command, &attr, size)));
}

bpf_insn set_result(int value) { return {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = value}; }
bpf_insn call_helper(int number) { return {.code = BPF_JMP | BPF_CALL, .imm = number}; }
bpf_insn leave() { return {.code = BPF_JMP | BPF_EXIT}; }

// Kernels before 5.0 take a kprobe program only when it names the version it was made for.
uint32_t running_version() {
  utsname names{};
  unsigned major = 0;
  unsigned minor = 0;
  unsigned patch = 0;
  if (::uname(&names) != 0 || std::sscanf(names.release, "%u.%u.%u", &major, &minor, &patch) < 2) return 0;
  return KERNEL_VERSION(major, minor, patch);
}

struct Program {
  bpf_prog_type type;
  std::optional<bpf_attach_type> attach;
  uint32_t target = 0;  // BTF id of what a tracing program is for
};

struct Loaded {
  base::FileDescriptor fd;
  int error = 0;
  std::string log;
};

Loaded load(const Program& program, std::span<const bpf_insn> code) {
  std::array<char, 4096> log{};
  bpf_attr attr{};
  attr.prog_type = program.type;
  attr.insns = reinterpret_cast<uintptr_t>(code.data());
  attr.insn_cnt = static_cast<uint32_t>(code.size());
  attr.license = reinterpret_cast<uintptr_t>("GPL");
  attr.kern_version = running_version();
  attr.log_level = 1;
  attr.log_buf = reinterpret_cast<uintptr_t>(log.data());
  attr.log_size = log.size();
  std::strncpy(attr.prog_name, "tephra_trial", sizeof attr.prog_name - 1);
  if (program.attach) attr.expected_attach_type = *program.attach;
  attr.attach_btf_id = program.target;
  Loaded result;
  result.fd = bpf_call(BPF_PROG_LOAD, attr, offsetof(bpf_attr, attach_btf_id) + sizeof attr.attach_btf_id);
  if (!result.fd) result.error = errno;
  log.back() = 0;
  result.log = log.data();
  return result;
}

Trial try_program(const Program& program) {
  const std::array code{set_result(0), leave()};
  const Loaded loaded = load(program, code);
  return loaded.fd ? granted() : refused(loaded.error, loaded.log);
}

// A tracing program is for one place in the kernel, which BTF must know.
Trial try_tracing(base::Bytes btf, bpf_attach_type attach, BtfKind kind, std::span<const char* const> places) {
  if (btf.empty()) return useless("the kernel has no BTF");
  for (const char* place : places) {
    if (const auto id = find_btf_type(btf, kind, place)) {
      return try_program({.type = BPF_PROG_TYPE_TRACING, .attach = attach, .target = *id});
    }
  }
  return useless("the kernel's BTF describes none of the usual places");
}

// Calls the helper with arguments it cannot take: a kernel that has it complains about those, one that has not about
// the call.
Trial try_helper(int number) {
  const std::array code{call_helper(number), set_result(0), leave()};
  const Loaded loaded = load({.type = BPF_PROG_TYPE_PERF_EVENT}, code);
  if (loaded.fd) return granted();
  if (loaded.error != EINVAL && loaded.error != EACCES) return refused(loaded.error, loaded.log);
  for (const char* absent : {"invalid func", "unknown func", "cannot use helper"}) {
    if (loaded.log.find(absent) != std::string::npos) return refused(loaded.error, loaded.log);
  }
  // Without a word of the verifier the load was refused before it looked at the call.
  return loaded.log.empty() ? refused(loaded.error) : granted();
}

Trial try_ring_buffer() {
  bpf_attr attr{};
  attr.map_type = BPF_MAP_TYPE_RINGBUF;
  attr.max_entries = static_cast<uint32_t>(::sysconf(_SC_PAGESIZE));
  const auto fd = bpf_call(BPF_MAP_CREATE, attr, offsetof(bpf_attr, map_name));
  return fd ? granted() : refused(errno);
}

// BTF with one type, an integer of four bytes: what a map of task storage must be described by.
base::FileDescriptor load_integer_type() {
  struct {
    uint16_t magic = 0xeb9f;
    uint8_t version = 1;
    uint8_t flags = 0;
    uint32_t header_size = 24;
    uint32_t types_at = 0;
    uint32_t types_size = 16;
    uint32_t strings_at = 16;
    uint32_t strings_size = 1;
    uint32_t name = 0;
    uint32_t info = 1u << 24;
    uint32_t size = 4;
    uint32_t encoding = 1u << 24 | 32;  // signed, 32 bits
    char strings[1] = {0};
  } type;
  bpf_attr attr{};
  attr.btf = reinterpret_cast<uintptr_t>(&type);
  attr.btf_size = offsetof(decltype(type), strings) + 1;
  return bpf_call(BPF_BTF_LOAD, attr, offsetof(bpf_attr, btf_log_level) + sizeof attr.btf_log_level);
}

Trial try_task_storage() {
  const auto type = load_integer_type();
  if (!type) return refused(errno);
  bpf_attr attr{};
  attr.map_type = BPF_MAP_TYPE_TASK_STORAGE;
  attr.key_size = 4;
  attr.value_size = 4;
  attr.map_flags = BPF_F_NO_PREALLOC;
  attr.btf_fd = static_cast<uint32_t>(type.get());
  attr.btf_key_type_id = 1;
  attr.btf_value_type_id = 1;
  const auto map =
      bpf_call(BPF_MAP_CREATE, attr, offsetof(bpf_attr, btf_value_type_id) + sizeof attr.btf_value_type_id);
  return map ? try_helper(kHelperTaskStorageGet) : refused(errno);
}

}  // namespace

const Trial* BpfTrials::find(const std::string& name) const {
  for (const auto* rows : {&programs, &features}) {
    for (const Row& row : *rows) {
      if (row.name == name) return &row.trial;
    }
  }
  return nullptr;
}

BpfTrials try_bpf(base::Bytes btf) {
  static constexpr std::array kTracepoints{"btf_trace_sched_switch"};
  static constexpr std::array kFunctions{"do_nanosleep", "vfs_read", "do_exit"};
  BpfTrials trials;
  trials.programs = {
      {"perf_event", try_program({.type = BPF_PROG_TYPE_PERF_EVENT})},
      {"tracepoint", try_program({.type = BPF_PROG_TYPE_TRACEPOINT})},
      {"raw_tracepoint", try_program({.type = BPF_PROG_TYPE_RAW_TRACEPOINT})},
      {"tp_btf", try_tracing(btf, BPF_TRACE_RAW_TP, BtfKind::kTypedef, kTracepoints)},
      {"fentry", try_tracing(btf, BPF_TRACE_FENTRY, BtfKind::kFunction, kFunctions)},
      {"kprobe", try_program({.type = BPF_PROG_TYPE_KPROBE})},
  };
  trials.features = {
      {"ring_buffer", try_ring_buffer()},
      {"bpf_loop", try_helper(kHelperLoop)},
      {"task_storage", try_task_storage()},
  };
  return trials;
}

}  // namespace tephra::kernel
