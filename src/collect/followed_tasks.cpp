#include "collect/followed_tasks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "kernel/privileges.h"
#include "kernel/procfs.h"
#include "kernel/users.h"

namespace tephra::collect {
namespace {

// A process that starts threads without end is left to inheritance after so many looks; each look reaches all but
// those that were started by a thread not yet attached.
constexpr int kMaxLooks = 50;
constexpr size_t kAllEvents = SIZE_MAX;

base::Error no_such_process(pid_t pid) {
  if (kernel::task_state(pid) == kernel::TaskState::kZombie) {
    return base::failed("cannot record process", std::to_string(pid),
                        "it has ended and only waits for its parent to notice (a zombie)");
  }
  if (const auto task = kernel::task_status(pid); task && task->tgid != pid) {
    return base::failed("cannot record process", std::to_string(pid),
                        fmt::format("it is a thread of process {}", task->tgid),
                        fmt::format("Use -p {}, or -t {} for the thread alone.", task->tgid, pid));
  }
  return base::failed("cannot record process", std::to_string(pid), "no such process",
                      "See 'ps -e' for those there are.");
}

}  // namespace

FollowedTasks::FollowedTasks(const Target& target, EventSet& events, bool inherits, Note note)
    : target_(target),
      events_(events),
      inherits_(inherits),
      scans_(target.inherit && (!inherits || target.user.has_value())),
      note_(std::move(note)) {}

// Told before the first is attached, with the number it takes.
base::Status FollowedTasks::check_descriptors() const {
  size_t threads = target_.threads.size();
  for (const pid_t pid : target_.processes) threads += kernel::thread_count(pid);
  const size_t needed = threads * events_.plan().size() * events_.rings().cpus().size() + 64;
  const unsigned long allowed = kernel::open_file_limit();
  if (needed <= allowed) return {};
  return base::failed(
      fmt::format("cannot attach to {} threads", threads), "",
      fmt::format("that takes {} descriptors, one per event, thread and CPU, and {} are allowed", needed, allowed),
      fmt::format("Run 'ulimit -n {0}' first (above the hard limit as root: 'prlimit --nofile={0} "
                  "tephra …'), or record everything with -a.",
                  needed));
}

base::Status FollowedTasks::attach() {
  TEPHRA_CHECK_OK(check_descriptors());
  for (const pid_t pid : target_.processes) TEPHRA_CHECK_OK(attach_process(pid));
  for (const pid_t tid : target_.threads) TEPHRA_CHECK_OK(attach_thread(tid));
  if (target_.user) {
    TEPHRA_CHECK_OK(attach_user(*target_.user));
    if (attached_.empty()) note_("no process of this user runs yet: those that start are recorded");
  }
  events_.forget_opening();
  return {};
}

std::map<pid_t, size_t> FollowedTasks::births_in_rings() const {
  constexpr size_t kTidOffset = 16;  // header, pid, ppid, tid, ptid, time
  constexpr size_t kTimeOffset = 24;
  std::map<pid_t, size_t> threads;
  const RingSet& rings = events_.rings();
  for (size_t place = 0; place < rings.cpus().size(); ++place) {
    const kernel::Pending pending = rings.ring(place).pending();
    for (size_t offset = 0, size = 0; (size = pending.record_size(offset)) > 0; offset += size) {
      if (static_cast<uint32_t>(pending.word(offset)) == PERF_RECORD_FORK && size >= kTimeOffset + 8) {
        const uint64_t tids = pending.word(offset + kTidOffset);
        const auto parent = static_cast<pid_t>(tids >> 32);
        // A parent that is not attached itself has all its events from its own parent.
        const auto opened = events_.opened_before(parent, pending.word(offset + kTimeOffset));
        threads.emplace(static_cast<pid_t>(tids), opened.value_or(kAllEvents));
      }
    }
  }
  return threads;
}

size_t FollowedTasks::inherited_events(pid_t tid) const {
  if (!inherits_ || attached_.empty()) return 0;
  if (born_.contains(tid)) return kAllEvents;
  const auto births = births_in_rings();
  const auto birth = births.find(tid);
  return birth == births.end() ? 0 : birth->second;
}

void FollowedTasks::heard(std::span<const TaskIds> born, std::span<const TaskIds> ended) {
  if (!scans_) return;
  for (const TaskIds& task : born) {
    if (inherits_)
      born_.insert(task.tid);
    else
      processes_.insert(task.pid);
  }
  // Numbers are used again, so those that ended must not count as reached.
  for (const TaskIds& task : ended) {
    born_.erase(task.tid);
    attached_.erase(task.tid);
  }
}

void FollowedTasks::adopt(pid_t pid) {
  known_.insert(pid);
  attached_.insert(pid);
  processes_.insert(pid);
  watch(pid);
}

base::Result<size_t> FollowedTasks::attach_new_threads(pid_t pid) {
  size_t found = 0;
  for (const pid_t tid : kernel::threads_of(pid)) {
    if (attached_.contains(tid)) continue;
    // Asked anew each time: a thread is listed before the record of its birth is in the ring.
    const size_t has = inherited_events(tid);
    if (has == kAllEvents) {
      attached_.insert(tid);
      continue;
    }
    TEPHRA_TRY(const bool alive, events_.attach_task(tid, has));
    if (!alive) continue;
    attached_.insert(tid);
    known_.insert(pid);
    if (has == 0) ++found;
  }
  return found;
}

base::Status FollowedTasks::attach_process(pid_t pid) {
  const auto state = kernel::task_state(pid);
  const auto task = kernel::task_status(pid);
  if (!task || task->tgid != pid) return no_such_process(pid);
  bool any = false;
  for (int look = 0; look < kMaxLooks; ++look) {
    TEPHRA_TRY(const size_t found, attach_new_threads(pid));
    any |= found > 0;
    if (found == 0) break;
    if (look == kMaxLooks - 1) {
      note_(fmt::format("process {} starts threads faster than they can be attached to: some may be missing", pid));
    }
  }
  if (!any) return no_such_process(pid);
  if (state == kernel::TaskState::kStopped || state == kernel::TaskState::kTraced) {
    note_(fmt::format("process {} is stopped{}: it uses no CPU until it goes on", pid,
                      state == kernel::TaskState::kTraced ? " by a debugger" : " (SIGSTOP)"));
  }
  processes_.insert(pid);
  watch(pid);
  return {};
}

base::Status FollowedTasks::attach_thread(pid_t tid) {
  TEPHRA_TRY(const bool alive, events_.attach_task(tid));
  if (!alive && kernel::task_state(tid) == kernel::TaskState::kZombie) return no_such_process(tid);
  if (!alive) {
    return base::failed("cannot record thread", std::to_string(tid), "no such thread",
                        "See 'ps -eL' for those there are.");
  }
  attached_.insert(tid);
  Watched watched;
  watched.pid = tid;
  // Our own, since the events of a thread that has ended may be closed before we look.
  watched.thread_fd.reset(::fcntl(events_.last_task_fd(), F_DUPFD_CLOEXEC, 0));
  watched_.push_back(std::move(watched));
  return {};
}

// Processes come and go meanwhile; only that of a right is an error.
base::Status FollowedTasks::attach_user(uid_t user) {
  for (const pid_t pid : kernel::processes_of_user(user)) {
    if (pid == ::getpid()) continue;
    TEPHRA_TRY([[maybe_unused]] const size_t found, attach_new_threads(pid));
  }
  return {};
}

base::Result<std::vector<pid_t>> FollowedTasks::follow() {
  std::vector<pid_t> fresh;
  if (!scans_) return fresh;
  events_.close_ended();
  const auto gone = [](pid_t pid) { return !kernel::process_exists(pid); };
  std::erase_if(processes_, gone);
  std::erase_if(known_, gone);
  const std::set<pid_t> before = known_;
  for (const pid_t pid : processes_) {
    TEPHRA_TRY([[maybe_unused]] const size_t found, attach_new_threads(pid));
  }
  if (target_.user) TEPHRA_CHECK_OK(attach_user(*target_.user));
  events_.forget_opening();
  std::set_difference(known_.begin(), known_.end(), before.begin(), before.end(), std::back_inserter(fresh));
  return fresh;
}

void FollowedTasks::watch(pid_t pid) {
  Watched watched;
  watched.pid = pid;
  watched.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  watched_.push_back(std::move(watched));
}

void FollowedTasks::add_waits(std::vector<pollfd>& waits) const {
  for (const Watched& watched : watched_) {
    if (watched.pidfd)
      waits.push_back({watched.pidfd.get(), POLLIN, 0});
    else if (watched.thread_fd)
      waits.push_back({watched.thread_fd.get(), 0, 0});
  }
}

bool FollowedTasks::all_ended() {
  std::erase_if(watched_, [](const Watched& watched) {
    if (watched.thread_fd) {
      pollfd wait{watched.thread_fd.get(), 0, 0};
      return ::poll(&wait, 1, 0) > 0 && (wait.revents & (POLLHUP | POLLERR)) != 0;
    }
    if (!watched.pidfd) return !kernel::process_exists(watched.pid);
    pollfd wait{watched.pidfd.get(), POLLIN, 0};
    return ::poll(&wait, 1, 0) > 0;
  });
  return watched_.empty() && !target_.user;
}

}  // namespace tephra::collect
