#include "stream/time_account.h"

#include <algorithm>

namespace tephra::stream {
namespace {

// What making and ending a thread takes beside its records.
constexpr uint64_t kSlackNs = 500'000;
// Of shorter lives a share says little.
constexpr uint64_t kLongLifeNs = 50'000'000;
constexpr double kMostOff = 0.01;

}  // namespace

void TimeAccount::add_time(const Sample& sample) {
  const uint64_t time = sample.origin.time;
  if (sample.period == 0) {
    begun_ = std::min(begun_, time);
    stopped_ = std::max(stopped_, time);
    return;
  }
  Thread& thread = threads_[sample.origin.tid];
  thread.told_ns += sample.period;
  thread.last = std::max(thread.last, time);
}

void TimeAccount::add_event(const Event& event) {
  if (const auto* fork = std::get_if<Fork>(&event)) {
    Thread& thread = threads_[fork->tid];
    if (fork->synthesized) {
      thread.was_there = true;
    } else {
      thread.born.push_back(fork->origin.time);
    }
  } else if (const auto* comm = std::get_if<Comm>(&event)) {
    threads_[comm->tid].was_there = true;
  } else if (const auto* exit = std::get_if<Exit>(&event)) {
    threads_[exit->tid].ended.push_back(exit->origin.time);
  }
}

// A number may be that of several threads, one after the other.
std::optional<uint64_t> TimeAccount::life_of(const Thread& thread) const {
  std::vector<uint64_t> begins = thread.born;
  std::vector<uint64_t> ends = thread.ended;
  std::ranges::sort(begins);
  std::ranges::sort(ends);
  if (begins.empty() && !thread.was_there) return {};
  if (begins.empty() || (!ends.empty() && ends.front() < begins.front())) begins.insert(begins.begin(), begun_);
  uint64_t life = 0;
  auto end = ends.begin();
  for (size_t i = 0; i < begins.size(); ++i) {
    const uint64_t from = std::clamp(begins[i], begun_, stopped_);
    while (end != ends.end() && *end < begins[i]) ++end;
    uint64_t until = end == ends.end() ? stopped_ : *end;
    // The record of its end comes before it last leaves its CPU.
    if (i + 1 == begins.size()) until = std::max(until, std::min(thread.last, stopped_));
    if (i + 1 < begins.size()) until = std::min(until, begins[i + 1]);
    life += std::clamp(until, from, stopped_) - from;
  }
  return life;
}

std::optional<model::TimeAccount> TimeAccount::finish() const {
  if (stopped_ == 0 || begun_ >= stopped_) return {};
  model::TimeAccount account;
  for (const auto& [tid, thread] : threads_) {
    if (thread.told_ns == 0) continue;
    const auto life = life_of(thread);
    if (!life) {
      ++account.not_told;
      continue;
    }
    ++account.threads;
    const uint64_t off = std::max(*life, thread.told_ns) - std::min(*life, thread.told_ns);
    if (off <= kSlackNs && *life < kLongLifeNs) continue;
    const double share = static_cast<double>(off) / static_cast<double>(std::max<uint64_t>(*life, 1));
    if (share > kMostOff && off > kSlackNs) ++account.off;
    if (share <= account.worst) continue;
    account.worst = share;
    account.worst_tid = tid;
    account.worst_told_ns = thread.told_ns;
    account.worst_life_ns = *life;
  }
  return account.threads + account.not_told == 0 ? std::nullopt : std::optional(account);
}

}  // namespace tephra::stream
