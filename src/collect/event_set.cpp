#include "collect/event_set.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "collect/open_error.h"
#include "kernel/privileges.h"
#include "kernel/procfs.h"

namespace tephra::collect {

EventSet::EventSet(std::vector<PlannedEvent> plan, const kernel::AttrSupport& support, Note note)
    : plan_(std::move(plan)),
      support_(support),
      note_(std::move(note)),
      on_(plan_.size()),
      rings_(RingSet::Kind::kDrained, support, note_),
      opened_(plan_.size()),
      times_of_closed_(plan_.size()) {}

base::Status EventSet::open_rings(const std::vector<int>& cpus, bool whole_cpus, RingSet::Size size) {
  whole_cpus_ = whole_cpus;
  const bool flight = std::any_of(plan_.begin(), plan_.end(), [](const auto& event) { return event.overwritten; });
  if (!flight) return rings_.open(cpus, whole_cpus, size);
  // The size is that of what is kept; few records tell about processes.
  constexpr size_t kSideBandBytes = 128 << 10;
  TEPHRA_CHECK_OK(rings_.open(cpus, whole_cpus, {std::min(kSideBandBytes, size.bytes), false}));
  flight_rings_.emplace(RingSet::Kind::kOverwritten, support_, note_);
  return flight_rings_->open({rings_.cpus().begin(), rings_.cpus().end()}, whole_cpus, size);
}

bool EventSet::without_kernel(PlannedEvent& event, int error_number) {
  if (error_number != EACCES && error_number != EPERM) return false;
  if (event.attr.exclude_kernel || event.spec.modes_given || kernel::privileges().may_profile_kernel()) return false;
  // Nothing, or nothing of what was asked for, would be left.
  const bool kernel_stacks_only = event.attr.exclude_callchain_user && !event.attr.exclude_callchain_kernel &&
                                  (event.attr.sample_type & PERF_SAMPLE_STACK_USER) == 0;
  if (event.attr.exclude_user || kernel_stacks_only) return false;
  event.attr.exclude_kernel = 1;
  event.attr.exclude_hv = 1;
  event.spec.name += ":u";
  if (!said_without_kernel_) {
    note_(fmt::format("only user code is sampled: perf_event_paranoid is {}. {}", kernel::privileges().paranoid,
                      kernel_code_fix()));
  }
  said_without_kernel_ = true;
  return true;
}

// An invalid descriptor: errno says whether the task (ESRCH) or the CPU (ENODEV) is gone.
base::Result<base::FileDescriptor> EventSet::open_one(PlannedEvent& event, const kernel::EventScope& scope,
                                                      int leader_fd) {
  for (;;) {
    auto fd = kernel::open_event(event.attr, scope, leader_fd);
    if (fd) return fd;
    const int error_number = errno;
    if (error_number == EINTR) continue;
    if (error_number == ESRCH) return base::FileDescriptor();
    // The same answer stands for a CPU that went offline and for an event that is not there.
    if (error_number == ENODEV && (event.tracking || event.spec.type == PERF_TYPE_SOFTWARE)) {
      return base::FileDescriptor();
    }
    if (!without_kernel(event, error_number)) return explain_open(event, scope, error_number);
  }
}

base::Status EventSet::connect(const PlannedEvent& event, int fd, size_t place) {
  const RingSet& rings = event.overwritten ? *flight_rings_ : rings_;
  if (!kernel::redirect_output(fd, rings.fd(place))) {
    return base::system_error("cannot send events to the ring of CPU", std::to_string(rings.cpus()[place]), errno);
  }
  if (event.spec.filter.empty() || kernel::set_filter(fd, event.spec.filter)) return {};
  if (errno == EINVAL) {
    return base::usage_error(fmt::format("the filter of {} is not understood", event.spec.name), event.spec.filter, "",
                             "Write for example 'prev_pid == 0 && prev_prio > 100'; the fields are in the event's "
                             "format file in tracefs.");
  }
  return base::system_error("cannot filter", event.spec.name, errno);
}

base::Status EventSet::walk(size_t index, int fd, uint64_t id) {
  // One identifier for the event wherever it is open: each takes a program of its own.
  const uint64_t shared_id = opened_[index].empty() ? id : opened_[index].front().id;
  const uint64_t fields = plan_[index].attr.sample_type;
  auto status = program_->attach(fd, shared_id, (fields & PERF_SAMPLE_ADDR) != 0, (fields & PERF_SAMPLE_PERIOD) != 0,
                                 plan_[index].spec.tells_page);
  if (!status) walk_refusal_ = status.error();
  return status;
}

bool EventSet::on_cpu(const PlannedEvent& event, size_t place) const {
  const auto& cpus = event.spec.cpus;
  return cpus.empty() || std::find(cpus.begin(), cpus.end(), rings_.cpus()[place]) != cpus.end();
}

base::Result<bool> EventSet::attach(const Whom& whom, size_t inherited) {
  const size_t places = rings_.cpus().size();
  std::vector<int> fds(plan_.size() * places, -1);  // for the groups
  inherited = std::min(inherited, fds.size());
  std::vector<uint64_t> times(whom.tid > 0 ? inherited : 0);
  bool first = true;
  for (size_t step = inherited; step < fds.size(); ++step) {
    const size_t index = step / places;
    const size_t place = step % places;
    PlannedEvent& event = plan_[index];
    // That one is not opened again: whoever has it has had it since before.
    const bool stays = renewal_ && event.tracking;
    if (whom.tid > 0) times.push_back(stays ? 0 : base::monotonic_ns());
    if (stays || !on_cpu(event, place)) continue;
    if (event.spec.collected && !opened_[index].empty()) continue;
    const int cpu = rings_.cpus()[place];
    const int cgroup = event.everywhere ? -1 : whom.cgroup_fd;
    const int leader_fd = event.leader < 0 ? -1 : fds[static_cast<size_t>(event.leader) * places + place];
    // It would count by itself, before its leader: a thread born just then goes without this event.
    if (event.leader >= 0 && leader_fd < 0) continue;
    TEPHRA_TRY(base::FileDescriptor fd, open_one(event, {whom.tid, cgroup, cpu}, leader_fd));
    if (!fd && errno == ESRCH) return false;
    if (!fd) continue;  // the CPU is gone
    if (whom.tid > 0) times.back() = base::monotonic_ns();
    TEPHRA_CHECK_OK(connect(event, fd.get(), place));
    fds[step] = fd.get();
    // The first is the one that is never renewed.
    if (std::exchange(first, false) && !renewal_) last_task_fd_ = fd.get();
    const uint64_t id = kernel::event_id(fd.get());
    if (event.walked) TEPHRA_CHECK_OK(walk(index, fd.get(), id));
    if (on_[index] && !renewal_ && event.leader < 0) kernel::enable_event(fd.get());
    opened_[index].push_back({std::move(fd), id, static_cast<uint32_t>(place)});
  }
  if (whom.tid > 0) opening_[whom.tid] = std::move(times);
  return true;
}

base::Status EventSet::attach_everything() {
  TEPHRA_TRY([[maybe_unused]] const bool done, attach({}, 0));
  return {};
}

base::Status EventSet::attach_cgroup(int folder_fd) {
  // Those that count everywhere are opened once, with the first group.
  const bool first = opened_[0].empty();
  const size_t skip = first ? 0 : rings_.cpus().size();
  TEPHRA_TRY([[maybe_unused]] const bool done, attach({-1, folder_fd}, skip));
  return {};
}

base::Result<bool> EventSet::attach_task(pid_t tid, size_t inherited) { return attach({tid, -1}, inherited); }

std::optional<size_t> EventSet::opened_before(pid_t tid, uint64_t time) const {
  const auto found = opening_.find(tid);
  if (found == opening_.end()) return {};
  const auto& times = found->second;
  return static_cast<size_t>(std::lower_bound(times.begin(), times.end(), time) - times.begin());
}

void EventSet::enable() {
  on_.assign(plan_.size(), true);
  for (size_t index = 0; index < opened_.size(); ++index) {
    if (plan_[index].leader >= 0) continue;
    for (const Opened& each : opened_[index]) {
      if (each.fd) kernel::enable_event(each.fd.get());
    }
  }
}

void EventSet::disable() {
  on_.assign(plan_.size(), false);
  for (const auto& event : opened_) {
    for (const Opened& each : event) kernel::disable_event(each.fd.get());
  }
}

void EventSet::pause() {
  on_.assign(plan_.size(), false);
  for (size_t index = 0; index < opened_.size(); ++index) {
    if (plan_[index].tracking || plan_[index].leader >= 0) continue;
    for (const Opened& each : opened_[index]) kernel::disable_event(each.fd.get());
  }
}

bool EventSet::enable_only(const std::string& name, bool on) {
  bool found = false;
  for (size_t index = 0; index < opened_.size(); ++index) {
    const std::string& own = plan_[index].spec.name;
    if (own != name && own != name + ":u") continue;  // the latter where kernel code was left out
    found = true;
    on_[index] = on;
    for (const Opened& each : opened_[index]) {
      if (on)
        kernel::enable_event(each.fd.get());
      else
        kernel::disable_event(each.fd.get());
    }
  }
  return found;
}

bool EventSet::grow_ring(size_t place, const std::function<void()>& meanwhile) {
  // With many it would take seconds.
  constexpr size_t kMostEvents = 32;
  std::vector<int> writers;
  for (size_t index = 0; index < opened_.size(); ++index) {
    if (plan_[index].overwritten) continue;
    for (const Opened& each : opened_[index]) {
      if (each.fd && each.place == place) writers.push_back(each.fd.get());
    }
  }
  if (writers.size() > kMostEvents) return false;
  return rings_.grow(place, [&](int ring) {
    for (const int fd : writers) {
      if (!kernel::redirect_output(fd, ring)) return false;
      meanwhile();
    }
    return true;
  });
}

std::vector<FileEvent> EventSet::file_events() const {
  std::vector<FileEvent> described;
  for (size_t index = 0; index < plan_.size(); ++index) {
    FileEvent event{plan_[index].attr, plan_[index].spec.name, {}, plan_[index].spec.group};
    // In a file the ring has no direction.
    event.attr.write_backward = 0;
    // Each copy tells its own size.
    uint32_t& stack_bytes = event.attr.sample_stack_user;
    if (stack_bytes > 0) stack_bytes = std::max(stack_bytes, largest_copy_);
    for (const Opened& each : opened_[index]) event.ids.push_back(each.id);
    described.push_back(std::move(event));
  }
  return described;
}

uint64_t EventSet::side_band_id() const { return opened_[0].empty() ? 0 : opened_[0][0].id; }

void EventSet::close_ended() {
  for (size_t index = 0; index < plan_.size(); ++index) {
    for (Opened& each : opened_[index]) {
      pollfd wait{each.fd.get(), 0, 0};
      if (each.fd && ::poll(&wait, 1, 0) > 0 && (wait.revents & POLLHUP) != 0) retire(index, each);
    }
  }
}

void EventSet::retire(size_t index, Opened& event) {
  if (!event.fd) return;
  const uint64_t format = plan_[index].attr.read_format;
  const bool counted_by_leader = (format & PERF_FORMAT_GROUP) != 0 && plan_[index].leader >= 0;
  const kernel::EventCount count = kernel::read_count(event.fd.get(), format);
  if (!counted_by_leader) lost_by_closed_ += count.lost;
  times_of_closed_[index].add(count);
  event.fd.reset();
}

void EventSet::renew(uint32_t stack_bytes) {
  Renewal& renewal = renewal_.emplace();
  opening_.clear();
  for (size_t index = 0; index < plan_.size(); ++index) {
    perf_event_attr& attr = plan_[index].attr;
    renewal.attrs.push_back(attr);
    renewal.first_new.push_back(opened_[index].size());
    if (attr.sample_type & PERF_SAMPLE_STACK_USER) {
      largest_copy_ = std::max(largest_copy_, attr.sample_stack_user);
      attr.sample_stack_user = stack_bytes;
    }
    // Nobody but us switches it on: the exec of a child must not.
    attr.enable_on_exec = 0;
  }
}

void EventSet::exchange() {
  for (size_t place = 0; place < rings_.cpus().size(); ++place) exchange_at(place);
  for (size_t index = 0; index < plan_.size(); ++index) {
    if (plan_[index].tracking) continue;
    for (size_t at = 0; at < renewal_->first_new[index]; ++at) retire(index, opened_[index][at]);
  }
  renewal_.reset();
  opening_.clear();
}

void EventSet::exchange_at(size_t place) {
  const auto each_at = [&](bool renewed, const auto& visit) {
    for (size_t index = 0; index < plan_.size(); ++index) {
      if (plan_[index].tracking) continue;
      const size_t first_new = renewal_->first_new[index];
      for (size_t at = renewed ? first_new : 0; at < (renewed ? opened_[index].size() : first_new); ++at) {
        const Opened& each = opened_[index][at];
        if (each.fd && each.place == place) visit(index, each.fd.get());
      }
    }
  };
  each_at(false, [](size_t, int fd) { kernel::disable_event(fd); });
  each_at(true, [&](size_t index, int fd) {
    if (on_[index] && plan_[index].leader < 0) kernel::enable_event(fd);
  });
}

void EventSet::give_up() {
  for (size_t index = 0; index < plan_.size(); ++index) {
    plan_[index].attr = renewal_->attrs[index];
    opened_[index].resize(renewal_->first_new[index]);
  }
  renewal_.reset();
  opening_.clear();
}

uint64_t EventSet::lost() const {
  uint64_t total = lost_by_closed_;
  for (size_t index = 0; index < plan_.size(); ++index) {
    const uint64_t format = plan_[index].attr.read_format;
    if ((format & PERF_FORMAT_LOST) == 0) continue;
    // A group's leader answers for all members.
    if ((format & PERF_FORMAT_GROUP) != 0 && plan_[index].leader >= 0) continue;
    for (const Opened& each : opened_[index]) {
      if (each.fd) total += kernel::read_count(each.fd.get(), format).lost;
    }
  }
  return total;
}

void EventSet::CounterTimes::add(const kernel::EventCount& count) {
  enabled_ns += count.enabled_ns;
  running_ns += count.running_ns;
  failed = failed || count.failed;
}

std::vector<EventSet::SharedCounter> EventSet::shared_counters() const {
  constexpr double kAlways = 0.97;  // short tasks are not measured more exactly
  const size_t cpus = rings_.cpus().size();
  if (!whole_cpus_ && cpus < kernel::online_cpus().size()) return {};
  // A task's event is enabled on all CPUs at once, and runs on that where the task is.
  const auto at_once = static_cast<double>(whole_cpus_ ? 1 : cpus);
  std::vector<SharedCounter> shared;
  for (size_t index = 0; index < plan_.size(); ++index) {
    if (!plan_[index].uses_counter()) continue;
    CounterTimes times = times_of_closed_[index];
    for (const Opened& each : opened_[index]) {
      if (each.fd) times.add(kernel::read_count(each.fd.get(), plan_[index].attr.read_format));
    }
    if (times.enabled_ns == 0 && !times.failed) continue;
    const double enabled = static_cast<double>(times.enabled_ns) / at_once;
    const double share = enabled > 0 ? static_cast<double>(times.running_ns) / enabled : 0;
    if (share < kAlways) shared.push_back({plan_[index].spec.name, share});
  }
  return shared;
}

}  // namespace tephra::collect
