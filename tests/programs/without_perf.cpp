// Runs a program under a seccomp filter that refuses perf_event_open, as containers have one:
//   without_perf eperm|enosys [bpf] PROGRAM [ARGUMENTS]
// `bpf` refuses the system call bpf as well.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

sock_filter load(unsigned offset) { return {BPF_LD | BPF_W | BPF_ABS, 0, 0, offset}; }
sock_filter answer(unsigned value) { return {BPF_RET | BPF_K, 0, 0, value}; }
// Skips the next instruction unless the loaded value is this one.
sock_filter unless(unsigned value) { return {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value}; }

bool refuse(const std::vector<long>& calls, int error) {
  std::vector<sock_filter> filter{load(offsetof(seccomp_data, nr))};
  for (const long call : calls) {
    filter.push_back(unless(static_cast<unsigned>(call)));
    filter.push_back(answer(SECCOMP_RET_ERRNO | static_cast<unsigned>(error)));
  }
  filter.push_back(answer(SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  int next = 1;
  const auto is = [&](const char* word) { return next < argc && std::strcmp(argv[next], word) == 0; };
  int error = 0;
  if (is("eperm")) error = EPERM;
  if (is("enosys")) error = ENOSYS;
  ++next;
  std::vector<long> calls{SYS_perf_event_open};
  if (is("bpf")) {
    calls.push_back(SYS_bpf);
    ++next;
  }
  if (error == 0 || next >= argc) {
    std::fprintf(stderr, "usage: without_perf eperm|enosys [bpf] PROGRAM [ARGUMENTS]\n");
    return 2;
  }
  if (!refuse(calls, error)) {
    std::perror("seccomp");
    return 1;
  }
  execvp(argv[next], argv + next);
  std::perror(argv[next]);
  return 127;
}
