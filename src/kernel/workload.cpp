#include "kernel/workload.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace tephra::kernel {
namespace {

struct Pipe {
  base::FileDescriptor read;
  base::FileDescriptor write;
};

base::Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::system_error("cannot make a pipe", "", errno);
  return Pipe{base::FileDescriptor(ends[0]), base::FileDescriptor(ends[1])};
}

sigset_t inbox_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD, SIGUSR2}) sigaddset(&set, signal);
  // nohup asks not to hear of hang-ups.
  struct sigaction hangup {};
  if (::sigaction(SIGHUP, nullptr, &hangup) != 0 || hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);
  return set;
}

// In the child, between fork and exec. Our death ends the wait, as the pipe then reads end of file.
[[noreturn]] void run_child(char* const* words, const Workload::Settings& settings, int go, int failure) {
  ::sigprocmask(SIG_SETMASK, &settings.mask, nullptr);
  if (settings.output_to_error) ::dup2(STDERR_FILENO, STDOUT_FILENO);
  char byte;
  ssize_t got;
  while ((got = ::read(go, &byte, 1)) < 0 && errno == EINTR) {
  }
  if (got != 1) ::_exit(1);
  ::execvp(words[0], words);
  const int error = errno;
  if (::write(failure, &error, sizeof error) != sizeof error) ::_exit(126);
  ::_exit(error == ENOENT ? 127 : 126);
}

}  // namespace

base::Result<Workload> Workload::fork(const std::vector<std::string>& arguments, const Settings& settings) {
  TEPHRA_TRY(Pipe go, make_pipe());
  TEPHRA_TRY(Pipe failure, make_pipe());
  std::vector<char*> words;
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  // Where our caller ignores the end of children, the kernel would keep the program's status from us.
  struct sigaction inherited {};
  ::sigaction(SIGCHLD, nullptr, &inherited);
  ::signal(SIGCHLD, SIG_DFL);
  const pid_t pid = ::fork();
  if (pid < 0) {
    return base::system_error("cannot start", arguments[0], errno,
                              errno == EAGAIN
                                  ? "There may be no more processes of this user (ulimit -u), in this "
                                    "control group (pids.max) or on this machine: end some, or raise the limit."
                                  : "");
  }
  if (pid == 0) {
    go.write.reset();
    ::sigaction(SIGCHLD, &inherited, nullptr);
    run_child(words.data(), settings, go.read.get(), failure.write.get());
  }
  Workload workload;
  workload.pid_ = pid;
  workload.go_ = std::move(go.write);
  workload.go_read_ = std::move(go.read);
  workload.failure_ = std::move(failure.read);
  return workload;
}

Workload::Workload(Workload&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      go_(std::move(other.go_)),
      go_read_(std::move(other.go_read_)),
      failure_(std::move(other.failure_)),
      started_(other.started_),
      status_(other.status_) {}

Workload::~Workload() {
  if (pid_ < 0 || started_) return;
  ::kill(pid_, SIGKILL);
  wait();
}

int Workload::start() {
  started_ = true;
  const char byte = 1;
  if (::write(go_.get(), &byte, 1) != 1) return errno;
  go_.reset();
  go_read_.reset();
  int error = 0;
  ssize_t got;
  while ((got = ::read(failure_.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  failure_.reset();
  if (got != sizeof error) return 0;
  wait();
  return error;
}

std::optional<int> Workload::poll() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return status_;
}

int Workload::wait() {
  int status = 0;
  while (!status_) {
    const pid_t got = ::waitpid(pid_, &status, 0);
    if (got == pid_)
      status_ = status;
    else if (got < 0 && errno != EINTR)
      status_ = 0;
  }
  return *status_;
}

void Workload::send(int signal) const {
  if (!status_) ::kill(pid_, signal);
}

int exit_status_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

base::Result<SignalInbox> SignalInbox::open() {
  const sigset_t set = inbox_signals();
  SignalInbox inbox;
  if (::pthread_sigmask(SIG_BLOCK, &set, &inbox.before_) != 0)
    return base::system_error("cannot block signals", "", errno);
  inbox.fd_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!inbox.fd_) return base::system_error("cannot wait for signals", "", errno);
  return inbox;
}

SignalInbox::SignalInbox(SignalInbox&& other) noexcept : fd_(std::move(other.fd_)), before_(other.before_) {}

SignalInbox::~SignalInbox() {
  if (!fd_) return;
  // A signal that came late must not kill us when it is unblocked.
  while (next() != 0) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int SignalInbox::next() {
  signalfd_siginfo info{};
  return ::read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace tephra::kernel
