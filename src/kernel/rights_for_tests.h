#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "kernel/bpf_config.h"
#include "kernel/grant.h"

namespace tephra::kernel {

// Exit status of a child without rights that starts a BPF program: 0 when the error says what is missing.
template <class Start>
int status_without_rights(Start start) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(3);
    const auto program = start();
    if (program.ok()) ::_exit(1);
    const std::string message = program.error().message();
    const char* expected = TEPHRA_BPF ? kGrantCommand : "built without BPF";
    if (message.find(expected) != std::string::npos) ::_exit(0);
    std::fprintf(stderr, "%s\n", message.c_str());
    ::_exit(2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace tephra::kernel
