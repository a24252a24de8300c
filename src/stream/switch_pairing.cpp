#include "stream/switch_pairing.h"

#include <algorithm>
#include <unordered_map>

#include "base/number_hash.h"

namespace tephra::stream {
namespace {

// Spans that do not overlap, in order.
std::vector<LostSpan> joined(std::vector<LostSpan> spans) {
  std::ranges::sort(spans, {}, &LostSpan::begin);
  std::vector<LostSpan> result;
  for (const LostSpan& span : spans) {
    if (!result.empty() && span.begin <= result.back().end) {
      result.back().end = std::max(result.back().end, span.end);
    } else {
      result.push_back(span);
    }
  }
  return result;
}

// Clocks of CPUs may differ by so much: what happened on one CPU may seem to have been before what it followed on
// another.
constexpr uint64_t kMostSkew = 1'000'000;

// Of so many switches on a CPU one may not follow the one before: recording begins at another moment on each.
constexpr uint64_t kMostOutOfOrder = 20;

class Pairing {
 public:
  Pairing(std::vector<LostSpan> lost, uint64_t end) : lost_(joined(std::move(lost))), end_(end) {}

  void apply(const SwitchStep& step) {
    switch (step.kind) {
      case SwitchStep::Kind::kSwitch:
        follow_cpu(step);
        leave(step);
        if (step.next != 0) arrive(threads_[step.next], step.time, step.cpu);
        break;
      case SwitchStep::Kind::kWake:
        wake(step);
        break;
      case SwitchStep::Kind::kRuns:
        told_runs_ = true;
        if (const auto tid = kernel_tids_.find(step.seen_tid); tid != kernel_tids_.end()) {
          arrive(threads_[tid->second], step.time, step.cpu);
        }
        break;
    }
  }

  PairedSwitches finish() {
    const bool sees_all = sees_all_switches();
    for (auto& [tid, thread] : threads_) {
      if (thread.place != Place::kWaiting) continue;
      if (sees_all) {
        close(thread, end_, true);
      } else {
        give_up(thread);
      }
    }
    std::ranges::sort(result_.waits, {}, &PairedWait::position);
    return std::move(result_);
  }

 private:
  enum class Place : uint8_t { kUnknown, kRunning, kWaiting };
  struct Thread {
    Place place = Place::kUnknown;
    uint32_t state = 0;
    int32_t cpu = -1;         // where it runs
    uint64_t since = 0;       // when it came there, or when it began to wait
    uint64_t position = 0;    // of the switch that began the wait
    uint64_t woken = 0;       // 0: not known
    uint64_t early_time = 0;  // it got another CPU at this time, while it seemed to run
    int32_t early_cpu = -1;
    bool has_left = false;  // it gave up a CPU at least once
  };

  // Whether what follows another on a CPU is what that was to be followed by tells whether all switches are recorded.
  void follow_cpu(const SwitchStep& step) {
    sees_idle_ = sees_idle_ || step.tid == 0;
    const auto [at, is_new] = last_next_.try_emplace(step.cpu, step.next);
    if (is_new) return;
    ++(at->second == step.tid ? in_order_ : out_of_order_);
    at->second = step.next;
  }
  // The idle task is recorded with whole CPUs alone. Where no CPU was idle, what was given a CPU must have left it, but
  // for those that run at the end; the records of a process are full of others that never do.
  bool sees_all_switches() const {
    if (told_runs_ || sees_idle_) return true;
    const auto never_left = std::ranges::count_if(threads_, [](const auto& entry) { return !entry.second.has_left; });
    return in_order_ > kMostOutOfOrder * out_of_order_ && static_cast<size_t>(never_left) <= last_next_.size();
  }

  void leave(const SwitchStep& step) {
    if (step.tid == 0) return;  // an idle CPU waits for nothing
    Thread& thread = threads_[step.tid];
    kernel_tids_[step.seen_tid] = step.tid;
    if (thread.place == Place::kWaiting) give_up(thread);  // it has run meanwhile
    const uint32_t state = wait_state_of(step.state);
    if (state == TEPHRA_WAIT_STATES) {
      thread = {.has_left = true};
      return;
    }
    const bool came_early = thread.place == Place::kRunning && thread.early_time != 0 && thread.early_cpu != step.cpu &&
                            step.time - thread.early_time <= kMostSkew;
    const Thread before = thread;
    thread = {
        .place = Place::kWaiting, .state = state, .since = step.time, .position = step.position, .has_left = true};
    if (came_early) arrive(thread, step.time, before.early_cpu);
  }

  void arrive(Thread& thread, uint64_t time, int32_t cpu) {
    if (thread.place == Place::kWaiting) {
      close(thread, time, false);
    } else if (thread.place == Place::kRunning) {
      if (cpu != thread.cpu) {
        thread.early_time = time;
        thread.early_cpu = cpu;
      }
      return;
    }
    thread = {.place = Place::kRunning, .cpu = cpu, .since = time, .has_left = thread.has_left};
  }

  void wake(const SwitchStep& step) {
    const auto found = threads_.find(step.tid);
    if (found == threads_.end()) return;
    Thread& thread = found->second;
    // Who is ready to run is not woken.
    if (thread.place != Place::kWaiting || thread.woken != 0 || thread.state == TEPHRA_WAIT_RUN_QUEUE) return;
    thread.woken = step.time;
  }

  // Between two times nothing was lost.
  bool is_covered(uint64_t begin, uint64_t end) const {
    const auto after = std::ranges::upper_bound(lost_, end, {}, &LostSpan::begin);
    return after == lost_.begin() || std::prev(after)->end < begin;
  }

  void close(const Thread& thread, uint64_t end, bool open) {
    end = std::max(end, thread.since);
    if (!is_covered(thread.since, end)) {
      ++result_.across_loss;
      result_.across_loss_time += end - thread.since;
      return;
    }
    const uint64_t queued = thread.woken == 0 ? 0 : end - std::min(thread.woken, end);
    result_.waits.push_back({thread.position, end - thread.since - queued, queued, thread.state});
    result_.open += open;
    result_.open_time += open ? end - thread.since : 0;
  }

  // It is not known when the thread ran again.
  void give_up(const Thread& thread) {
    if (thread.woken == 0 || !is_covered(thread.since, thread.woken)) {
      ++result_.unended;
      return;
    }
    ++result_.half_told;
    result_.waits.push_back({thread.position, thread.woken - thread.since, 0, thread.state});
  }

  std::vector<LostSpan> lost_;
  uint64_t end_;
  std::unordered_map<int32_t, Thread, base::NumberHash> threads_;       // by the kernel's number
  std::unordered_map<int32_t, int32_t, base::NumberHash> kernel_tids_;  // by the number that is seen
  std::unordered_map<int32_t, int32_t, base::NumberHash> last_next_;    // by CPU: who runs there
  bool sees_idle_ = false;
  bool told_runs_ = false;
  uint64_t in_order_ = 0;
  uint64_t out_of_order_ = 0;
  PairedSwitches result_;
};

}  // namespace

uint32_t wait_state_of(uint64_t prev_state) {
  constexpr uint64_t kInterruptible = 1;
  constexpr uint64_t kUninterruptible = 2;
  constexpr uint64_t kEnded = 0x30;   // dead and zombie, in either order
  constexpr uint64_t kIdle = 0x80;    // a thread of the kernel without work; on old kernels with kUninterruptible alone
  constexpr uint64_t kOther = 0x24c;  // stopped, traced, parked (0x40, or 0x200 on old kernels)
  if (prev_state & kEnded) return TEPHRA_WAIT_STATES;
  if (prev_state & kUninterruptible) return TEPHRA_WAIT_UNINTERRUPTIBLE;
  if (prev_state & (kInterruptible | kIdle)) return TEPHRA_WAIT_SLEEPING;
  // What is left is 0, and the bit that says that it did not give up the CPU by itself.
  return prev_state & kOther ? TEPHRA_WAIT_OTHER : TEPHRA_WAIT_RUN_QUEUE;
}

PairedSwitches pair_switches(std::vector<SwitchStep> steps, std::vector<LostSpan> lost, uint64_t end) {
  std::ranges::stable_sort(steps, {}, [](const SwitchStep& step) { return std::pair(step.time, step.position); });
  Pairing pairing(std::move(lost), end);
  for (const SwitchStep& step : steps) pairing.apply(step);
  return pairing.finish();
}

}  // namespace tephra::stream
