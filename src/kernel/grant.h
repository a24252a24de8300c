#pragma once

namespace tephra::kernel {

// The command that gives the program all rights it has a use for: stacks walked in the kernel (cap_bpf), events of the
// kernel and of other users (cap_perfmon), their memory maps and files (cap_sys_ptrace), kernel names (cap_syslog).
// One text for all advice: setcap replaces what an earlier one gave.
inline constexpr const char* kGrantCommand = "setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_syslog+ep";

}  // namespace tephra::kernel
