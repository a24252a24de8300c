#include "collect/kept_process.h"

#include <linux/perf_event.h>

#include <algorithm>

namespace tephra::collect {
namespace {

// A thread that does nothing but change its name must not fill the memory.
constexpr size_t kMostRecordsOfThread = 256;

std::shared_ptr<KeptProcess::Mappings> new_mappings(std::pmr::memory_resource* memory) {
  return std::allocate_shared<KeptProcess::Mappings>(std::pmr::polymorphic_allocator<KeptProcess::Mappings>(memory));
}

}  // namespace

std::string ToldRecord::bytes() const {
  switch (form) {
    case Form::kInherited:
      return as_inherited(*record, pid, tid, time);
    case Form::kForkWithoutCopy:
      return without_copy(*record);
    case Form::kAsItCame:
      break;
  }
  return std::string(record->bytes);
}

KeptProcess::KeptProcess(pid_t pid, std::pmr::memory_resource* memory)
    : pid_(pid),
      memory_(memory),
      threads_(memory),
      mappings_(new_mappings(memory)),
      replaced_mappings_(memory),
      past_mappings_(memory) {}

KeptProcess::Thread& KeptProcess::running_thread(pid_t tid) {
  Thread& thread = threads_.try_emplace(tid, memory_).first->second;
  if (!thread.running) ++running_threads_;
  thread.running = true;
  return thread;
}

void KeptProcess::stop(Thread& thread, uint64_t time) {
  if (!thread.running) return;
  --running_threads_;
  thread.running = false;
  thread.ended_at = time;
  has_replaced_ = true;
}

// A record that comes late may tell of an earlier time than those there are; it replaces only what is not newer.
void KeptProcess::replace(Thread& thread, uint32_t type, uint64_t time) {
  for (KeptRecord& kept : thread.records) {
    if (!kept.current() || kept.record->type != type || kept.time > time) continue;
    kept.replaced_at = time;
    has_replaced_ = true;
  }
}

void KeptProcess::add(Thread& thread, const KeptRecord& record) {
  replace(thread, record.record->type, record.time);
  if (record.record->type == PERF_RECORD_FORK) replace(thread, PERF_RECORD_EXIT, record.time);
  if (thread.records.size() >= kMostRecordsOfThread) {
    std::erase_if(thread.records, [](const KeptRecord& kept) { return !kept.current(); });
  }
  thread.records.push_back(record);
}

void KeptProcess::inherit_name(Thread& child, const KeptProcess& parent, const KeptRecord& fork) {
  replace(child, PERF_RECORD_COMM, fork.time);
  const auto thread = parent.threads_.find(fork.record->parent_tid);
  if (thread == parent.threads_.end()) return;
  for (const KeptRecord& kept : thread->second.records) {
    if (kept.record->type != PERF_RECORD_COMM || !kept.current()) continue;
    add(child, {kept.record, fork.time, fork.sequence, UINT64_MAX, true});
    return;
  }
}

void KeptProcess::start(const KeptRecord& fork, const KeptProcess* parent) {
  Thread& thread = running_thread(fork.record->tid);
  add(thread, fork);
  started_at_ = fork.time;
  started_sequence_ = fork.sequence;
  if (parent == nullptr) return;
  inherit_name(thread, *parent, fork);
  mappings_ = parent->mappings_;
}

void KeptProcess::start_thread(const KeptRecord& fork) {
  // Who starts a thread runs, also where its own start was not told. Records made from /proc do not tell who did.
  if (fork.time != 0) running_thread(fork.record->parent_tid);
  Thread& thread = running_thread(fork.record->tid);
  add(thread, fork);
  inherit_name(thread, *this, fork);
}

void KeptProcess::rename(const KeptRecord& comm) {
  add(running_thread(comm.record->tid), comm);
  if (!comm.record->exec) return;
  for (auto& [tid, thread] : threads_) {
    if (tid != comm.record->tid) stop(thread, comm.time);
  }
  if (mappings_->empty()) return;
  past_mappings_.push_back({std::move(mappings_), comm.time});
  mappings_ = new_mappings(memory_);
  has_replaced_ = true;
}

void KeptProcess::add_namespaces(const KeptRecord& namespaces) {
  add(running_thread(namespaces.record->tid), namespaces);
}

KeptProcess::Mappings& KeptProcess::own_mappings() {
  if (mappings_.use_count() > 1) {
    mappings_ = std::allocate_shared<Mappings>(std::pmr::polymorphic_allocator<Mappings>(memory_), *mappings_);
  }
  return *mappings_;
}

void KeptProcess::add_mapping(const KeptRecord& mapping) {
  if (pid_ > 0) running_thread(mapping.record->tid);
  const uint64_t start = mapping.record->start;
  const uint64_t end = mapping.record->end;
  Mappings& mappings = own_mappings();
  for (auto at = mappings.lower_bound(start); at != mappings.end() && at->first < end;) {
    KeptRecord& kept = at->second;
    if (kept.record->end > end || kept.time > mapping.time) {
      ++at;
      continue;
    }
    kept.replaced_at = mapping.time;
    replaced_mappings_.push_back(std::move(kept));
    has_replaced_ = true;
    at = mappings.erase(at);
  }
  mappings.emplace(start, mapping);
}

void KeptProcess::end_thread(const KeptRecord& exit) {
  const auto found = threads_.find(exit.record->tid);
  if (found == threads_.end()) return;
  add(found->second, exit);
  stop(found->second, exit.time);
}

void KeptProcess::end(uint64_t time) {
  for (auto& [tid, thread] : threads_) stop(thread, time);
  ended_at_ = time;
}

size_t KeptProcess::forget_before(uint64_t horizon) {
  const auto not_needed = [horizon](const KeptRecord& kept) { return kept.replaced_at <= horizon; };
  bool left = false;
  // The name of the process is that of its first thread, also when that has ended.
  const size_t threads = std::erase_if(threads_, [&](const auto& entry) {
    return entry.first != pid_ && !entry.second.running && entry.second.ended_at < horizon;
  });
  for (auto& [tid, thread] : threads_) {
    std::erase_if(thread.records, not_needed);
    left = left || (!thread.running && tid != pid_) ||
           std::any_of(thread.records.begin(), thread.records.end(), [](const auto& kept) { return !kept.current(); });
  }
  std::erase_if(replaced_mappings_, not_needed);
  std::erase_if(past_mappings_, [horizon](const PastMappings& past) { return past.until <= horizon; });
  if (replaced_mappings_.empty()) replaced_mappings_.shrink_to_fit();
  has_replaced_ = left || !replaced_mappings_.empty() || !past_mappings_.empty();
  return threads;
}

void KeptProcess::keep_mappings_in(const std::vector<AddressRange>& ranges, uint64_t time) {
  Mappings& mappings = own_mappings();
  for (auto at = mappings.begin(); at != mappings.end();) {
    KeptRecord& kept = at->second;
    const auto after = std::upper_bound(ranges.begin(), ranges.end(), kept.record->start,
                                        [](uint64_t start, const AddressRange& range) { return start < range.end; });
    if (after != ranges.end() && after->start < kept.record->end) {
      ++at;
      continue;
    }
    kept.replaced_at = std::max(kept.time, time);
    replaced_mappings_.push_back(std::move(kept));
    has_replaced_ = true;
    at = mappings.erase(at);
  }
}

size_t KeptProcess::limit_mappings(size_t most) {
  size_t excess = all_mappings() - std::min(all_mappings(), most);
  const size_t dropped = excess;
  const size_t replaced = std::min(excess, replaced_mappings_.size());
  replaced_mappings_.erase(replaced_mappings_.begin(), replaced_mappings_.begin() + static_cast<ptrdiff_t>(replaced));
  excess -= replaced;
  if (excess == 0) return dropped;
  Mappings& mappings = own_mappings();
  std::vector<Mappings::iterator> oldest;
  for (auto at = mappings.begin(); at != mappings.end(); ++at) oldest.push_back(at);
  std::nth_element(oldest.begin(), oldest.begin() + static_cast<ptrdiff_t>(excess - 1), oldest.end(),
                   [](auto a, auto b) { return a->second.sequence < b->second.sequence; });
  for (size_t i = 0; i < excess; ++i) mappings.erase(oldest[i]);
  return dropped;
}

void KeptProcess::tell(uint64_t horizon, std::vector<ToldRecord>& told) const {
  using Form = ToldRecord::Form;
  for (const auto& [tid, thread] : threads_) {
    for (const KeptRecord& kept : thread.records) {
      const bool old = kept.time < horizon;
      // A fork that is not old tells what was inherited: the parent's records of that time are there.
      if (kept.inherited && !old) continue;
      const Form form = kept.inherited                                 ? Form::kInherited
                        : old && kept.record->type == PERF_RECORD_FORK ? Form::kForkWithoutCopy
                                                                       : Form::kAsItCame;
      told.push_back({kept.time, kept.sequence, kept.inherited ? 1u : 0u, kept.record.get(), form, pid_, tid});
    }
  }
  for (const PastMappings& past : past_mappings_) {
    for (const auto& [start, kept] : *past.mappings) tell_mapping(kept, horizon, told);
  }
  for (const KeptRecord& kept : replaced_mappings_) tell_mapping(kept, horizon, told);
  for (const auto& [start, kept] : *mappings_) tell_mapping(kept, horizon, told);
}

void KeptProcess::tell_mapping(const KeptRecord& kept, uint64_t horizon, std::vector<ToldRecord>& told) const {
  // Lists of mappings are shared with the parent, so what is inherited is told by what came before the start.
  const bool inherited = kept.record->pid != pid_ || kept.time < started_at_;
  if (!inherited) {
    told.push_back({kept.time, kept.sequence, 0, kept.record.get()});
  } else if (started_at_ < horizon) {
    told.push_back({started_at_, started_sequence_, kept.sequence + 1, kept.record.get(), ToldRecord::Form::kInherited,
                    pid_, pid_});
  }
}

}  // namespace tephra::collect
