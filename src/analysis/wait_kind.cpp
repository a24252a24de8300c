#include "analysis/wait_kind.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <unordered_map>

#include "analysis/wakers.h"
#include "stream/wait_states.h"

namespace tephra::analysis {
namespace {

using model::Profile;

// A function of the kernel that tells what is waited for. The name is its beginning where it ends in a star.
struct KnownFunction {
  std::string_view name;
  WaitKind kind;
};

// What settles it: the innermost of them counts.
constexpr auto kDeciding = std::to_array<KnownFunction>({
    {"futex_wait*", WaitKind::kLock},
    {"__futex_wait", WaitKind::kLock},
    {"futex_lock_pi*", WaitKind::kLock},
    {"do_futex", WaitKind::kLock},
    {"rt_mutex_*", WaitKind::kLock},
    {"__rt_mutex_*", WaitKind::kLock},
    {"rwsem_down_*", WaitKind::kLock},
    {"__down_*", WaitKind::kLock},
    {"__mutex_lock*", WaitKind::kLock},
    {"mutex_lock*", WaitKind::kLock},
    {"percpu_rwsem_wait", WaitKind::kLock},
    {"flock_lock_inode_wait", WaitKind::kLock},
    {"locks_lock_inode_wait", WaitKind::kLock},
    {"fcntl_setlk*", WaitKind::kLock},
    {"posix_lock_inode_wait", WaitKind::kLock},

    {"do_nanosleep", WaitKind::kSleep},
    {"hrtimer_nanosleep", WaitKind::kSleep},
    {"common_nsleep*", WaitKind::kSleep},
    {"timerfd_read*", WaitKind::kSleep},
    {"msleep*", WaitKind::kSleep},
    {"usleep_range*", WaitKind::kSleep},

    {"pipe_read", WaitKind::kPipe},
    {"pipe_write", WaitKind::kPipe},
    {"anon_pipe_*", WaitKind::kPipe},
    {"pipe_wait*", WaitKind::kPipe},
    {"wait_for_partner", WaitKind::kPipe},
    {"fifo_open", WaitKind::kPipe},
    {"unix_stream_*", WaitKind::kPipe},
    {"unix_dgram_*", WaitKind::kPipe},
    {"unix_wait_for_peer", WaitKind::kPipe},
    {"unix_accept", WaitKind::kPipe},
    {"eventfd_read", WaitKind::kPipe},
    {"eventfd_write", WaitKind::kPipe},
    {"signalfd_*", WaitKind::kPipe},
    {"do_msgrcv", WaitKind::kPipe},
    {"do_msgsnd", WaitKind::kPipe},
    {"do_semtimedop", WaitKind::kPipe},
    {"__do_semtimedop", WaitKind::kPipe},
    {"wq_sleep", WaitKind::kPipe},
    {"do_mq_timed*", WaitKind::kPipe},

    {"ep_poll", WaitKind::kNetwork},
    {"do_epoll_wait", WaitKind::kNetwork},
    {"do_poll*", WaitKind::kNetwork},
    {"do_sys_poll", WaitKind::kNetwork},
    {"do_select", WaitKind::kNetwork},
    {"core_sys_select", WaitKind::kNetwork},
    {"sk_wait_*", WaitKind::kNetwork},
    {"sk_stream_wait_*", WaitKind::kNetwork},
    {"__lock_sock", WaitKind::kNetwork},
    {"wait_woken", WaitKind::kNetwork},
    {"tcp_*", WaitKind::kNetwork},
    {"inet_*", WaitKind::kNetwork},
    {"inet6_*", WaitKind::kNetwork},
    {"udp_*", WaitKind::kNetwork},
    {"udpv6_*", WaitKind::kNetwork},
    {"__skb_recv_*", WaitKind::kNetwork},
    {"__skb_wait_for_more_packets", WaitKind::kNetwork},
    {"netlink_*", WaitKind::kNetwork},
    {"sock_*", WaitKind::kNetwork},
    {"rpc_wait_bit_*", WaitKind::kNetwork},
    {"nfs_*", WaitKind::kNetwork},

    {"filemap_fault", WaitKind::kPageFault},
    {"handle_mm_fault", WaitKind::kPageFault},
    {"__handle_mm_fault", WaitKind::kPageFault},
    {"do_user_addr_fault", WaitKind::kPageFault},
    {"exc_page_fault", WaitKind::kPageFault},
    {"do_page_fault", WaitKind::kPageFault},
    {"do_swap_page", WaitKind::kPageFault},
    {"handle_userfault", WaitKind::kPageFault},

    {"do_wait*", WaitKind::kOther},
    {"kernel_wait*", WaitKind::kOther},
    {"do_sigtimedwait*", WaitKind::kOther},
    {"sigsuspend", WaitKind::kOther},
    {"n_tty_read", WaitKind::kOther},
    {"io_cqring_wait*", WaitKind::kOther},
    {"ptrace_stop", WaitKind::kOther},
    {"do_signal_stop", WaitKind::kOther},
    {"inotify_read", WaitKind::kOther},
});

// What settles it where nothing of the above is further out: a page is read from a disk in a fault, too.
constexpr auto kSuggesting = std::to_array<KnownFunction>({
    {"io_schedule*", WaitKind::kDisk},
    {"bit_wait_io*", WaitKind::kDisk},
    {"folio_wait_*", WaitKind::kDisk},
    {"wait_on_page_*", WaitKind::kDisk},
    {"__wait_on_page_*", WaitKind::kDisk},
    {"wait_on_buffer", WaitKind::kDisk},
    {"__wait_on_buffer", WaitKind::kDisk},
    {"submit_bio_wait", WaitKind::kDisk},
    {"blk_*", WaitKind::kDisk},
    {"blkdev_*", WaitKind::kDisk},
    {"__blkdev_*", WaitKind::kDisk},
    {"iomap_dio_*", WaitKind::kDisk},
    {"__iomap_dio_*", WaitKind::kDisk},
    {"dio_await_completion", WaitKind::kDisk},
    {"rq_qos_wait", WaitKind::kDisk},
    {"balance_dirty_pages*", WaitKind::kDisk},
    {"jbd2_*", WaitKind::kDisk},
    {"ext4_*", WaitKind::kDisk},
    {"xfs_*", WaitKind::kDisk},
    {"btrfs_*", WaitKind::kDisk},
    {"fuse_*", WaitKind::kDisk},
    {"request_wait_answer", WaitKind::kDisk},
    {"p9_*", WaitKind::kDisk},
    {"filemap_*", WaitKind::kDisk},
    {"vfs_fsync*", WaitKind::kDisk},
    {"do_fsync", WaitKind::kDisk},
});

// Where the kernel's stack is not known.
constexpr auto kSystemCalls = std::to_array<KnownFunction>({
    {"futex*", WaitKind::kLock},       {"flock", WaitKind::kLock},
    {"nanosleep", WaitKind::kSleep},   {"clock_nanosleep", WaitKind::kSleep},
    {"epoll_*", WaitKind::kNetwork},   {"poll", WaitKind::kNetwork},
    {"ppoll*", WaitKind::kNetwork},    {"select", WaitKind::kNetwork},
    {"pselect6*", WaitKind::kNetwork}, {"recv*", WaitKind::kNetwork},
    {"send*", WaitKind::kNetwork},     {"accept*", WaitKind::kNetwork},
    {"connect", WaitKind::kNetwork},   {"msgrcv", WaitKind::kPipe},
    {"msgsnd", WaitKind::kPipe},       {"sem*", WaitKind::kPipe},
    {"mq_*", WaitKind::kPipe},         {"fsync", WaitKind::kDisk},
    {"fdatasync", WaitKind::kDisk},    {"sync*", WaitKind::kDisk},
    {"msync", WaitKind::kDisk},
});

bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

WaitKind look_up(std::span<const KnownFunction> table, std::string_view name) {
  const auto found = std::ranges::find_if(table, [&](const KnownFunction& known) { return matches(known.name, name); });
  return found == table.end() ? WaitKind::kNone : found->kind;
}

// What a function tells, as the compiler named it: "tcp_recvmsg_locked.isra.0".
struct Told {
  WaitKind deciding = WaitKind::kNone;
  WaitKind suggesting = WaitKind::kNone;
};

Told told_by(std::string_view function) {
  function = function.substr(0, function.find('.'));
  return {look_up(kDeciding, function), look_up(kSuggesting, function)};
}

// Adds what is further out.
void add_outer(const Told& outer, Told& told) {
  if (told.deciding == WaitKind::kNone) told.deciding = outer.deciding;
  if (told.suggesting == WaitKind::kNone) told.suggesting = outer.suggesting;
}

WaitKind decide(const Told& told, const WaitFacts& facts) {
  if (facts.state == stream::wait_state_name(TEPHRA_WAIT_RUN_QUEUE)) return WaitKind::kRunQueue;
  if (told.deciding != WaitKind::kNone) return told.deciding;
  if (facts.cause == stream::kCauseFault) return WaitKind::kPageFault;
  if (told.suggesting != WaitKind::kNone) return told.suggesting;
  const WaitKind by_call = look_up(kSystemCalls, facts.syscall);
  if (by_call != WaitKind::kNone) return by_call;
  return facts.cause == stream::kCauseDisk ? WaitKind::kDisk : WaitKind::kOther;
}

// By the kernel's frames of each stack, of which the innermost is the stack's own.
class StackKinds {
 public:
  explicit StackKinds(const Profile& profile) : profile_(profile), told_(profile.frames.size()) {
    for (uint32_t i = 1; i < profile.frames.size(); ++i) {
      const model::FrameId frame{i};
      if (profile.in_kernel(frame)) told_[i] = told_by(profile.function_name(frame));
    }
  }

  Told of(model::StackId stack) {
    const auto [at, is_new] = known_.try_emplace(stack.value);
    if (!is_new) return at->second;
    Told told;
    bool in_kernel = true;
    for (; stack; stack = profile_.stacks[stack].parent) {
      const model::FrameId frame = profile_.stacks[stack].frame;
      if (is_separator(frame)) {  // what was so far is of the thread that ended the wait
        told = {};
        in_kernel = true;
        continue;
      }
      in_kernel = in_kernel && profile_.in_kernel(frame);
      if (in_kernel) add_outer(told_[frame.value], told);
    }
    return at->second = told;
  }

 private:
  bool is_separator(model::FrameId frame) const {
    return profile_.code_kind(frame) == model::CodeKind::kImported &&
           profile_.function_name(frame).starts_with(kWokenBy);
  }

  const Profile& profile_;
  std::vector<Told> told_;  // by frame
  std::unordered_map<uint32_t, Told> known_;
};

WaitFacts facts_of(const Profile& profile, size_t row) {
  WaitFacts facts;
  if (profile.samples.labels.empty()) return facts;
  for (const model::Label& label : profile.label_sets[profile.samples.labels[row]].labels) {
    const std::string_view key = profile.text(label.key);
    if (key == stream::kStateLabel) facts.state = profile.text(label.text);
    if (key == stream::kSyscallLabel) facts.syscall = profile.text(label.text);
    if (key == stream::kCauseLabel) facts.cause = profile.text(label.text);
  }
  return facts;
}

using Weights = std::array<uint64_t, kWaitKinds>;

std::optional<WaitKind> kind_of_most(const Weights& weights) {
  const auto* const most = std::ranges::max_element(weights);
  const uint64_t sum = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  if (*most < sum - sum / 4) return std::nullopt;
  return static_cast<WaitKind>(most - weights.begin());
}

}  // namespace

std::string_view wait_kind_name(WaitKind kind) {
  constexpr std::array<std::string_view, kWaitKinds + 1> kNames{
      "running", "lock", "disk", "network", "pipe/IPC", "sleep", "page fault", "run queue", "other wait", "waker"};
  return kNames[static_cast<size_t>(kind)];
}

WaitKind wait_kind(const std::vector<std::string_view>& kernel_functions, const WaitFacts& facts) {
  Told told;
  for (const std::string_view function : kernel_functions) add_outer(told_by(function), told);
  return decide(told, facts);
}

std::vector<WaitKind> wait_kinds(const Profile& profile) {
  std::vector<char> waits;
  bool any = false;
  for (const model::Event& event : profile.events) {
    waits.push_back(profile.text(event.name) == stream::kWaitEvent);
    any = any || waits.back() != 0;
  }
  std::vector<WaitKind> kinds;
  if (!any) return kinds;
  StackKinds stacks(profile);
  for (size_t row = 0; row < profile.samples.size(); ++row) {
    const bool wait = waits[profile.samples.event[row].value] != 0;
    kinds.push_back(wait ? decide(stacks.of(profile.samples.stack[row]), facts_of(profile, row)) : WaitKind::kNone);
  }
  return kinds;
}

std::vector<std::optional<WaitKind>> kinds_of_nodes(const CallTree& tree, const Profile& profile,
                                                    const std::vector<WaitKind>& kinds, Weight weight) {
  std::vector<Weights> weights(tree.nodes.size(), Weights{});
  for (size_t row = 0; row < kinds.size(); ++row) {
    const model::Totals totals{profile.samples.count[row], profile.samples.value[row]};
    weights[tree.leaf_of_sample[row]][static_cast<size_t>(kinds[row])] += weight_of(totals, weight);
  }
  for (size_t node = tree.nodes.size(); node-- > 1;) {
    Weights& outer = weights[tree.nodes[node].parent];
    for (size_t kind = 0; kind < kWaitKinds; ++kind) outer[kind] += weights[node][kind];
  }
  std::vector<std::optional<WaitKind>> result;
  for (size_t node = 0; node < weights.size(); ++node) {
    result.push_back(kind_of_most(weights[node]));
    const bool above_waker = node > 0 && result[tree.nodes[node].parent] == WaitKind::kWaker;
    if (above_waker || tree.name(tree.nodes[node]).label.starts_with(kWokenBy)) result.back() = WaitKind::kWaker;
  }
  return result;
}

}  // namespace tephra::analysis
