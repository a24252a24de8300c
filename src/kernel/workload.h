#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace tephra::kernel {

// A program started for us: forked at once, so that events can be attached to it, and held before its exec until
// start().
class Workload {
 public:
  struct Settings {
    sigset_t mask{};               // the signals it has blocked
    bool output_to_error = false;  // its standard output goes to standard error, since ours is needed
  };
  // Forks. `arguments` has at least the program's name, looked up in PATH.
  static base::Result<Workload> fork(const std::vector<std::string>& arguments, const Settings& settings);

  Workload(Workload&& other) noexcept;
  Workload& operator=(Workload&&) = delete;
  // Kills and reaps a child that was never started; a started one is left alone.
  ~Workload();

  pid_t pid() const { return pid_; }
  // Lets the child exec. 0, or the errno that exec failed with; the child is gone then.
  int start();
  // The wait status when the child is done, without waiting.
  std::optional<int> poll();
  // The wait status poll() or wait() found; 0 before that.
  int result() const { return status_.value_or(0); }
  // Waits for its end.
  int wait();
  void send(int signal) const;

 private:
  Workload() = default;
  pid_t pid_ = -1;
  base::FileDescriptor go_;       // a byte written here starts the child
  base::FileDescriptor go_read_;  // the child's end, kept so that writing to a child that died is no SIGPIPE
  base::FileDescriptor failure_;  // the errno of a failed exec comes here; end of file: exec succeeded
  bool started_ = false;
  std::optional<int> status_;
};

// The exit status a shell would show for a wait status: 128+n for signal n.
int exit_status_of(int wait_status);

// Turns SIGINT, SIGTERM, SIGHUP, SIGCHLD and SIGUSR2 into something to poll for as long as it lives; restores the mask
// after.
class SignalInbox {
 public:
  static base::Result<SignalInbox> open();
  SignalInbox(SignalInbox&& other) noexcept;
  SignalInbox& operator=(SignalInbox&&) = delete;
  ~SignalInbox();

  int fd() const { return fd_.get(); }
  // The mask as it was before.
  const sigset_t& mask_before() const { return before_; }
  // The next signal that arrived, 0 when none is waiting.
  int next();

 private:
  SignalInbox() = default;
  base::FileDescriptor fd_;
  sigset_t before_{};
};

}  // namespace tephra::kernel
