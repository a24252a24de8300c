#include "collect/stack_engine.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"

namespace tephra::collect {
namespace {

// More than any machine tells between two looks; beyond it the worker begins anew.
constexpr size_t kMostNotices = 200'000;
constexpr uint64_t kTicksBetweenSweeps = 30;

}  // namespace

StackEngine::StackEngine(std::unique_ptr<kernel::StackProgram> program, WalkedProcesses::Sources sources,
                         uint64_t most_table_bytes)
    : program_(std::move(program)), processes_(*program_, most_table_bytes, std::move(sources)) {
  worker_ = std::thread([this] { work(); });
}

StackEngine::~StackEngine() { finish(); }

void StackEngine::finish() {
  if (!worker_.joinable()) return;
  {
    const std::lock_guard guard(lock_);
    stop_ = true;
  }
  woken_.notify_all();
  worker_.join();
}

void StackEngine::prepare(pid_t pid) { tell({{What::kWanted, pid, pid}}); }

void StackEngine::wait_prepared(std::chrono::milliseconds most) {
  std::unique_lock guard(lock_);
  idle_.wait_for(guard, most, [this] { return notices_.empty() && !busy_; });
}

void StackEngine::tell(std::vector<Notice> notices) {
  if (notices.empty()) return;
  {
    const std::lock_guard guard(lock_);
    if (notices_.size() + notices.size() > kMostNotices) {
      overflowed_ = true;
      notices_.clear();
    }
    notices_.insert(notices_.end(), notices.begin(), notices.end());
  }
  woken_.notify_one();
}

void StackEngine::heard(const kernel::Pending& records) {
  std::vector<Notice> notices;
  for (size_t offset = 0, size = 0; (size = records.record_size(offset)) > 0; offset += size) {
    const uint64_t header = records.word(offset);
    const auto type = static_cast<uint32_t>(header);
    const auto misc = static_cast<uint16_t>(header >> 32);
    const bool mapped = type == PERF_RECORD_MMAP2 && (misc & PERF_RECORD_MISC_MMAP_DATA) == 0;
    const bool exec = type == PERF_RECORD_COMM && (misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
    if ((mapped || exec) && size >= 16) {
      const uint64_t ids = records.word(offset + 8);
      const What what = exec ? What::kBegun : What::kChanged;
      notices.push_back({what, static_cast<pid_t>(ids), static_cast<pid_t>(ids >> 32)});
    } else if (type == PERF_RECORD_EXIT && size >= 24) {
      const auto pid = static_cast<pid_t>(records.word(offset + 8));
      const auto tid = static_cast<pid_t>(records.word(offset + 16));
      // Other threads may go on: then the process is asked for again.
      if (pid == tid) notices.push_back({What::kEnded, pid, tid});
    }
  }
  tell(std::move(notices));
}

void StackEngine::take(std::string& samples) {
  std::vector<Notice> notices;
  program_->consume([&](base::Bytes records) { samples += base::as_text(records); },
                    [&](const tephra_walk_wanted& wanted) {
                      notices.push_back({What::kWanted, wanted.pid, wanted.tid});
                    });
  tell(std::move(notices));
}

void StackEngine::tick() {
  if (++ticks_ % kTicksBetweenSweeps != 0) return;
  {
    const std::lock_guard guard(lock_);
    sweep_ = true;
  }
  woken_.notify_one();
}

StackEngine::Totals StackEngine::totals() const {
  const std::lock_guard guard(lock_);
  // The worker is not among the programs' tables, and cannot begin while we hold the lock.
  if (!busy_) totals_ = {program_->totals(), processes_.totals()};
  return totals_;
}

void StackEngine::work() {
  std::unique_lock guard(lock_);
  for (;;) {
    const auto has_work = [this] { return stop_ || sweep_ || overflowed_ || !notices_.empty(); };
    if (const auto due = next_due()) {
      woken_.wait_until(guard, *due, has_work);
    } else {
      woken_.wait(guard, has_work);
    }
    if (stop_) return;
    const auto notices = std::exchange(notices_, {});
    const bool sweep = std::exchange(sweep_, false);
    const bool overflowed = std::exchange(overflowed_, false);
    busy_ = true;
    guard.unlock();
    if (overflowed) {
      processes_.forget_all();
      pace_.forget_all();
      waiting_.clear();
    }
    if (sweep) processes_.forget_vanished();
    follow(notices);
    learn_due();
    guard.lock();
    busy_ = false;
    idle_.notify_all();
  }
}

// What was told of a process last decides; all of it is older than what /proc shows now.
void StackEngine::follow(const std::vector<Notice>& notices) {
  std::map<pid_t, Notice> last;
  for (const Notice& notice : notices) {
    // How long the old program took to learn says nothing about the new one.
    if (notice.what == What::kBegun || notice.what == What::kEnded) pace_.forget(notice.pid);
    const auto [place, first] = last.emplace(notice.pid, notice);
    if (first) continue;
    // Asked for and changed: asked for.
    const bool still_wanted = place->second.what == What::kWanted && notice.what != What::kEnded;
    if (!still_wanted) place->second = notice;
    place->second.tid = notice.tid;  // who was heard of last is alive rather than others
  }
  for (const auto& [pid, notice] : last) {
    if (notice.what == What::kEnded) {
      waiting_.erase(pid);
      processes_.ended(pid);
      continue;
    }
    // Those that may be learnt by now are next.
    const auto [place, first] = waiting_.emplace(pid, notice);
    if (!first && place->second.what != What::kWanted) place->second = notice;
    place->second.tid = notice.tid;
  }
}

void StackEngine::learn(const Notice& notice) {
  const auto cost = notice.what == What::kWanted ? processes_.wanted(notice.pid, notice.tid)
                                                 : processes_.changed(notice.pid, notice.tid);
  pace_.learnt(notice.pid, cost, LearningPace::Clock::now());
}

std::optional<LearningPace::Clock::time_point> StackEngine::next_due() const {
  std::optional<LearningPace::Clock::time_point> next;
  for (const auto& [pid, notice] : waiting_) {
    const auto due = pace_.not_before(pid);
    next = std::min(next.value_or(due), due);
  }
  return next;
}

void StackEngine::learn_due() {
  const auto now = LearningPace::Clock::now();
  std::vector<Notice> due;
  std::erase_if(waiting_, [&](const auto& each) {
    if (now < pace_.not_before(each.first)) return false;
    due.push_back(each.second);
    return true;
  });
  for (const Notice& notice : due) learn(notice);
}

}  // namespace tephra::collect
