#include "base/key_reader.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace tephra::base {
namespace {

// What the handlers need; there is one reader at a time.
int g_fd = -1;
termios g_original;
volatile sig_atomic_t g_changed = 0;  // whether the terminal is in our mode

constexpr std::array kFatalSignals{SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTERM, SIGHUP, SIGINT};
struct Disposition {
  int signal = 0;
  struct sigaction before {};
};
std::array<Disposition, kFatalSignals.size() + 2> g_before;
size_t g_handled = 0;

// Changing a terminal that is not ours any more must not stop us; that is checked before, but may change in between.
void set_mode(const termios& mode) {
  sigset_t stop;
  sigset_t before;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTTOU);
  ::pthread_sigmask(SIG_BLOCK, &stop, &before);
  ::tcsetattr(g_fd, TCSANOW, &mode);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void restore() {
  if (g_changed == 0) return;
  g_changed = 0;
  if (::tcgetpgrp(g_fd) == ::getpgrp()) set_mode(g_original);
}

// Does what the signal does by default.
void raise_default(int signal) {
  struct sigaction plain {};
  struct sigaction ours {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(signal, &plain, &ours);
  sigset_t one;
  sigset_t before;
  sigemptyset(&one);
  sigaddset(&one, signal);
  ::raise(signal);
  ::pthread_sigmask(SIG_UNBLOCK, &one, &before);  // ends or stops here
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::sigaction(signal, &ours, nullptr);
}

void on_end_or_stop(int signal) {
  const int saved = errno;
  restore();
  raise_default(signal);
  errno = saved;
}

// Whoever had the terminal meanwhile has set its mode.
void on_continue(int) { g_changed = 0; }

// Only where nobody has decided otherwise.
void handle(int signal, void (*handler)(int)) {
  Disposition disposition;
  disposition.signal = signal;
  if (::sigaction(signal, nullptr, &disposition.before) != 0 || disposition.before.sa_handler != SIG_DFL) return;
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
  g_before[g_handled++] = disposition;
}

}  // namespace

KeyReader::KeyReader(int fd) {
  if (g_fd >= 0 || ::isatty(fd) == 0 || ::tcgetattr(fd, &g_original) != 0) return;
  fd_ = g_fd = fd;
  for (const int signal : kFatalSignals) handle(signal, on_end_or_stop);
  handle(SIGTSTP, on_end_or_stop);
  handle(SIGCONT, on_continue);
}

KeyReader::~KeyReader() {
  if (fd_ < 0) return;
  restore();
  while (g_handled > 0) {
    const Disposition& disposition = g_before[--g_handled];
    ::sigaction(disposition.signal, &disposition.before, nullptr);
  }
  g_fd = -1;
}

bool KeyReader::in_foreground() const { return ::tcgetpgrp(fd_) == ::getpgrp(); }

int KeyReader::fd() {
  if (fd_ < 0 || !in_foreground()) return -1;
  if (g_changed == 0) {
    // Asked again: what is to be restored is what the terminal has now.
    if (::tcgetattr(fd_, &g_original) != 0) return -1;
    termios mode = g_original;
    mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    mode.c_cc[VMIN] = 1;
    mode.c_cc[VTIME] = 0;
    g_changed = 1;  // before: a signal may come in between
    set_mode(mode);
  }
  return fd_;
}

char KeyReader::next() {
  // Reading what is for another program would stop us.
  if (fd() < 0) return 0;
  pollfd wait{fd_, POLLIN, 0};
  if (::poll(&wait, 1, 0) <= 0 || (wait.revents & POLLIN) == 0) return 0;
  char key = 0;
  return ::read(fd_, &key, 1) == 1 ? key : '\0';
}

}  // namespace tephra::base
