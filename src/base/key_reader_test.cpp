#include "base/key_reader.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>

#include "base/file.h"

namespace tephra::base {
namespace {

using std::chrono::milliseconds;

void sleep(int ms) { std::this_thread::sleep_for(milliseconds(ms)); }

void without_core_file() {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

// A process that leads a session on a terminal of its own, which runs `body` and exits with what it returns.
class OnTerminal {
 public:
  explicit OnTerminal(const std::function<int()>& body) {
    int controller = -1;
    std::fflush(nullptr);  // what is not printed yet would be printed by both
    pid_ = ::forkpty(&controller, nullptr, nullptr, nullptr);
    if (pid_ == 0) {
      // Where the tests run in the background, a shell may have left these ignored.
      for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGTERM}) ::signal(signal, SIG_DFL);
      ::alarm(60);
      ::_exit(body());
    }
    terminal_.reset(controller);
  }
  ~OnTerminal() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }

  void type(char key) const { ASSERT_EQ(::write(terminal_.get(), &key, 1), 1); }
  bool raw() const {
    termios mode{};
    return ::tcgetattr(terminal_.get(), &mode) == 0 && (mode.c_lflag & (ICANON | ECHO)) == 0;
  }
  bool becomes_raw(bool expected) const {
    for (int i = 0; i < 500 && raw() != expected; ++i) sleep(10);
    return raw() == expected;
  }
  // What the program wrote or the terminal echoed.
  std::string output() const {
    std::string text;
    pollfd wait{terminal_.get(), POLLIN, 0};
    while (::poll(&wait, 1, 50) > 0 && (wait.revents & POLLIN) != 0) {
      char buffer[256];
      const ssize_t size = ::read(terminal_.get(), buffer, sizeof buffer);
      if (size <= 0) break;
      text.append(buffer, static_cast<size_t>(size));
    }
    return text;
  }
  int wait(int options = 0) {
    int status = -1;
    ::waitpid(pid_, &status, options);
    if (WIFEXITED(status) || WIFSIGNALED(status)) pid_ = -1;
    return status;
  }
  pid_t pid() const { return pid_; }
  int fd() const { return terminal_.get(); }

 private:
  pid_t pid_ = -1;
  FileDescriptor terminal_;
};

// Waits for a key as a recorder does; what came.
char wait_for_key(KeyReader& keys) {
  for (;;) {
    pollfd wait{keys.fd(), POLLIN, 0};
    ::poll(&wait, 1, 50);
    if (const char key = keys.next()) return key;
  }
}

TEST(KeyReader, NoTerminalHasNoKeys) {
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  const FileDescriptor read(fds[0]);
  const FileDescriptor write(fds[1]);
  KeyReader keys(read.get());
  EXPECT_EQ(keys.fd(), -1);
  EXPECT_EQ(keys.next(), 0);
  KeyReader none(-1);
  EXPECT_EQ(none.fd(), -1);
}

TEST(KeyReader, GivesKeysAtOnceWithoutEchoAndRestoresTheTerminal) {
  OnTerminal program([] {
    {
      KeyReader keys(STDIN_FILENO);
      if (keys.next() != 0) return 1;
      if (wait_for_key(keys) != 's') return 2;
      if (wait_for_key(keys) != 'q') return 3;
    }
    termios mode{};
    ::tcgetattr(STDIN_FILENO, &mode);
    return (mode.c_lflag & ICANON) != 0 && (mode.c_lflag & ECHO) != 0 ? 0 : 4;
  });
  ASSERT_TRUE(program.becomes_raw(true));
  program.type('s');
  program.type('q');
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(program.output(), "");
}

TEST(KeyReader, ASignalThatEndsUsLeavesTheTerminalAsItWas) {
  for (const int signal : {SIGTERM, SIGQUIT, SIGABRT}) {
    OnTerminal program([] {
      // Another process holds the terminal open, so that it can be looked at.
      if (::fork() == 0) {
        for (const int ignored : {SIGTERM, SIGQUIT, SIGABRT, SIGHUP}) ::signal(ignored, SIG_IGN);
        sleep(3000);
        ::_exit(0);
      }
      without_core_file();
      KeyReader keys(STDIN_FILENO);
      wait_for_key(keys);
      return 0;
    });
    ASSERT_TRUE(program.becomes_raw(true));
    ::kill(program.pid(), signal);
    const int status = program.wait();
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_TRUE(program.becomes_raw(false));
  }
}

TEST(KeyReader, ASuspendedProgramLeavesTheTerminalAsItWas) {
  OnTerminal program([] {
    // Only a process whose parent is in the same session and another group can be stopped by the terminal.
    const pid_t child = ::fork();
    if (child == 0) {
      ::setpgid(0, 0);
      sleep(50);
      KeyReader keys(STDIN_FILENO);
      if (wait_for_key(keys) != 'x') return 1;
      termios mode{};
      ::tcgetattr(STDIN_FILENO, &mode);
      return (mode.c_lflag & ICANON) == 0 ? 0 : 5;
    }
    ::signal(SIGTTOU, SIG_IGN);
    ::setpgid(child, child);
    ::tcsetpgrp(STDIN_FILENO, child);
    int status = 0;
    if (::waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status)) return 2;
    termios mode{};
    ::tcgetattr(STDIN_FILENO, &mode);
    if ((mode.c_lflag & ICANON) == 0) return 3;
    ::kill(child, SIGCONT);
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
  });
  ASSERT_TRUE(program.becomes_raw(true));
  program.type('\x1a');  // Ctrl-Z
  program.type('x');
  const int status = program.wait();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(KeyReader, InTheBackgroundItTouchesNothing) {
  OnTerminal program([] {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setpgid(0, 0);
      KeyReader keys(STDIN_FILENO);
      for (int i = 0; i < 20; ++i) {
        if (keys.fd() != -1 || keys.next() != 0) ::_exit(1);
        sleep(10);
      }
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, WUNTRACED);
    if (WIFSTOPPED(status)) ::kill(child, SIGKILL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
  });
  program.type('k');
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(program.raw());
    sleep(10);
  }
  const int status = program.wait();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace tephra::base
