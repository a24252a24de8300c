#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "collect/event_set.h"
#include "collect/ring_scan.h"
#include "collect/target.h"

namespace tephra::collect {

// The running processes and threads that a recording is attached to: attaches the events, follows what they start, and
// tells when they have all ended.
class FollowedTasks {
 public:
  // `inherits`: what the tasks start has the events by itself. Else, and for the processes of a user, which others may
  // start, new ones are looked for again and again.
  FollowedTasks(const Target& target, EventSet& events, bool inherits, Note note);

  // Attaches to everything there is. An error when a process or thread is not there, or not ours.
  base::Status attach();
  // A program of ours, to whose first thread the events are attached already.
  void adopt(pid_t pid);
  // Attaches to what has started since and was not reached; a no-op unless it scans. The processes that are new: no
  // record has told about them yet.
  base::Result<std::vector<pid_t>> follow();

  bool scans() const { return scans_; }
  // Threads that have the events.
  const std::set<pid_t>& attached() const { return attached_; }
  // Told of tasks whose birth and end were recorded: the born ones have their parent's events.
  void heard(std::span<const TaskIds> born, std::span<const TaskIds> ended);
  // Adds what to wait for to be told of an end.
  void add_waits(std::vector<pollfd>& waits) const;
  // Looks who has ended. True: none is left (never for a user's processes).
  bool all_ended();

 private:
  struct Watched {
    base::FileDescriptor pidfd;      // of a process
    base::FileDescriptor thread_fd;  // of a thread: an event's, which hangs up
    pid_t pid = 0;
  };

  base::Status check_descriptors() const;
  base::Status attach_process(pid_t pid);
  // One look at a process's threads: attaches to the new ones. How many.
  base::Result<size_t> attach_new_threads(pid_t pid);
  base::Status attach_thread(pid_t tid);
  base::Status attach_user(uid_t user);
  // Threads whose birth stands in the rings: how many of its parent's events each has.
  std::map<pid_t, size_t> births_in_rings() const;
  size_t inherited_events(pid_t tid) const;
  void watch(pid_t pid);

  const Target& target_;
  EventSet& events_;
  bool inherits_;
  bool scans_;
  Note note_;
  std::set<pid_t> processes_;  // whose threads are looked for
  std::set<pid_t> known_;      // processes that were attached to
  std::set<pid_t> attached_;   // threads
  std::set<pid_t> born_;       // threads that inherited
  std::vector<Watched> watched_;
};

}  // namespace tephra::collect
