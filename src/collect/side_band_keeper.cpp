#include "collect/side_band_keeper.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <string>

#include "kernel/procfs.h"

namespace tephra::collect {
namespace {

constexpr size_t kBlockBytes = 256 << 10;
// Without the end of a round records do not wait for ever.
constexpr size_t kMostWaiting = 200'000;

}  // namespace

std::vector<AddressRange> mapped_ranges(pid_t pid) {
  std::vector<AddressRange> ranges;
  const std::string text = kernel::maps_text(pid);
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = rest.find('\n');
    if (const auto map = kernel::parse_map_line(rest.substr(0, end))) ranges.push_back({map->start, map->end});
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return ranges;
}

SideBandKeeper::SideBandKeeper(LiveRanges live_ranges, SideBandLimits limits)
    : live_ranges_(std::move(live_ranges)),
      limits_(limits),
      waiting_(memory_.get()),
      limit_above_(limits.bytes),
      running_(memory_.get()),
      ended_(memory_.get()),
      code_objects_(memory_.get()),
      programs_(memory_.get()),
      cgroups_(memory_.get()) {}

void SideBandKeeper::take(const kernel::Pending& pending) {
  std::vector<std::byte> record;
  for (size_t offset = 0, size = 0; offset < pending.size(); offset += size) {
    size = pending.record_size(offset);
    if (size == 0 || size % sizeof(uint64_t) != 0) {
      ++counts_.malformed;
      return;
    }
    // Where samples share the ring they are most of it, and not copied.
    if (static_cast<uint32_t>(pending.word(offset)) == PERF_RECORD_SAMPLE) continue;
    record.resize(size);
    pending.copy(offset, record.data(), size);
    take_one(record);
  }
}

void SideBandKeeper::take(base::Bytes records) { take(kernel::Pending{{records, base::Bytes()}, 0}); }

void SideBandKeeper::take_one(base::Bytes bytes) {
  const auto header = base::load<perf_event_header>(bytes.data());
  if (header.type == PERF_RECORD_LOST && bytes.size() >= 24) counts_.lost += base::load<uint64_t>(bytes.data() + 16);
  if (!is_side_band(header.type)) return;
  auto record = read_side_band_record(bytes, memory_.get());
  if (!record) {
    ++counts_.malformed;
    return;
  }
  newest_ = std::max(newest_, record->time);
  waiting_.push_back(std::move(record));
  if (waiting_.size() > kMostWaiting) settle(UINT64_MAX);
}

void SideBandKeeper::end_round() {
  settle(previous_newest_);
  previous_newest_ = newest_;
}

// Applies what waits and is not newer than `until`, in order of time.
void SideBandKeeper::settle(uint64_t until) {
  const auto older = [](const auto& a, const auto& b) { return a->time < b->time; };
  std::stable_sort(waiting_.begin(), waiting_.end(), older);
  const auto end = std::upper_bound(waiting_.begin(), waiting_.end(), until,
                                    [](uint64_t time, const auto& record) { return time < record->time; });
  for (auto at = waiting_.begin(); at != end; ++at) apply(*at);
  waiting_.erase(waiting_.begin(), end);
  if (waiting_.empty()) waiting_.shrink_to_fit();
  limit_bytes();
}

void SideBandKeeper::apply(const std::shared_ptr<const SideBandRecord>& record) {
  const KeptRecord kept{record, record->time, ++sequence_};
  switch (record->type) {
    case PERF_RECORD_KSYMBOL:
      return apply_to_thing(code_objects_, kept);
    case PERF_RECORD_BPF_EVENT:
      return apply_to_thing(programs_, kept);
    case PERF_RECORD_CGROUP:
      apply_to_thing(cgroups_, kept);
      if (cgroups_.size() <= limits_.cgroups) return;
      cgroups_.erase(cgroups_.begin());
      ++counts_.dropped_cgroups;
      return;
    default:
      return apply_to_process(kept);
  }
}

void SideBandKeeper::apply_to_process(const KeptRecord& kept) {
  const SideBandRecord& record = *kept.record;
  if (record.type == PERF_RECORD_FORK && record.pid != record.parent_pid) return start_process(kept);
  if (record.type == PERF_RECORD_EXIT) {
    const auto found = running_.find(record.pid);
    if (found == running_.end()) return;
    found->second.end_thread(kept);
    if (!found->second.running() && record.pid > 0) return end_process(found, kept.time);
    stale_.insert(record.pid);
    return;
  }
  KeptProcess& process = process_of(record.pid);
  if (record.type == PERF_RECORD_FORK) {
    process.start_thread(kept);
  } else if (record.type == PERF_RECORD_COMM) {
    process.rename(kept);
  } else if (record.type == PERF_RECORD_NAMESPACES) {
    process.add_namespaces(kept);
  } else {
    process.add_mapping(kept);
    limit_mappings(process, kept.time);
  }
  if (process.has_replaced()) stale_.insert(record.pid);
}

KeptProcess& SideBandKeeper::process_of(pid_t pid) {
  return running_.try_emplace(pid, pid, memory_.get()).first->second;
}

void SideBandKeeper::start_process(const KeptRecord& fork) {
  const SideBandRecord& record = *fork.record;
  // Made from /proc (time 0), it tells who the parent is of a process that may be known already; nothing was copied.
  const bool synthesized = fork.time == 0;
  const auto before = running_.find(record.pid);
  if (before != running_.end() && !synthesized) end_process(before, fork.time);
  const auto parent = running_.find(record.parent_pid);
  const bool copies = !synthesized && parent != running_.end();
  KeptProcess& process = process_of(record.pid);
  process.start(fork, copies ? &running_.find(record.parent_pid)->second : nullptr);
  if (process.has_replaced()) stale_.insert(record.pid);
}

void SideBandKeeper::end_process(Processes::iterator found, uint64_t time) {
  stale_.erase(found->first);
  ask_above_.erase(found->first);
  found->second.end(time);
  ended_.push_back(std::move(found->second));
  running_.erase(found);
}

void SideBandKeeper::apply_to_thing(Things& things, const KeptRecord& kept) {
  auto& records = things[kept.record->start];
  for (KeptRecord& other : records) {
    if (other.current() && other.time <= kept.time) other.replaced_at = kept.time;
  }
  std::erase_if(records, [this](const KeptRecord& other) { return other.replaced_at <= horizon_; });
  records.push_back(kept);
  // That it went must be told to those samples only that may be older.
  if (kept.record->removal) records.back().replaced_at = kept.time;
}

void SideBandKeeper::limit_mappings(KeptProcess& process, uint64_t time) {
  const auto asked = ask_above_.find(process.pid());
  const size_t above = asked == ask_above_.end() ? limits_.mappings_per_process : asked->second;
  if (process.current_mappings() > above) {
    if (process.pid() > 0 && live_ranges_) {
      const auto ranges = live_ranges_(process.pid());
      if (!ranges.empty()) process.keep_mappings_in(ranges, time);
    }
    // Asked again when there are twice as many, so that asking stays cheap for those who really have that many.
    ask_above_[process.pid()] = std::max(limits_.mappings_per_process, 2 * process.current_mappings());
  }
  if (process.all_mappings() <= limits_.most_per_process) return;
  process.forget_before(horizon_);
  counts_.dropped_mappings += process.limit_mappings(limits_.most_per_process / 4 * 3);
}

void SideBandKeeper::forget_before(uint64_t time) {
  if (time <= horizon_) return;
  horizon_ = time;
  forget();
}

size_t SideBandKeeper::forget() {
  size_t forgotten = 0;
  for (; !ended_.empty() && ended_.front().ended_at() < horizon_; ++forgotten) ended_.pop_front();
  for (auto at = stale_.begin(); at != stale_.end();) {
    KeptProcess& process = running_.find(*at)->second;
    forgotten += process.forget_before(horizon_);
    at = process.has_replaced() ? std::next(at) : stale_.erase(at);
  }
  for (Things* things : {&code_objects_, &programs_}) {
    for (auto at = things->begin(); at != things->end();) {
      std::erase_if(at->second, [this](const KeptRecord& kept) { return kept.replaced_at <= horizon_; });
      at = at->second.empty() ? things->erase(at) : std::next(at);
    }
  }
  return forgotten;
}

void SideBandKeeper::limit_bytes() {
  if (bytes() <= limit_above_) return;
  while (bytes() > limits_.bytes && horizon_ < newest_) {
    horizon_ += std::max<uint64_t>(1, (newest_ - horizon_) / 2);
    counts_.forgotten_early += forget();
    counts_.forgotten_until = horizon_;
  }
  // What lives may take more than that; then looking again at each round would help nothing.
  limit_above_ = std::max(limits_.bytes, bytes() + bytes() / 4);
}

void SideBandKeeper::forget_vanished(const std::function<bool(pid_t)>& exists, uint64_t now) {
  std::vector<pid_t> gone;
  for (const auto& [pid, process] : running_) {
    if (pid > 0 && !exists(pid)) gone.push_back(pid);
  }
  for (const pid_t pid : gone) end_process(running_.find(pid), now);
}

base::Status SideBandKeeper::write_to(const std::function<base::Status(base::Bytes)>& write) {
  settle(UINT64_MAX);
  forget();
  std::vector<ToldRecord> told;
  for (const KeptProcess& process : ended_) process.tell(horizon_, told);
  for (const auto& [pid, process] : running_) process.tell(horizon_, told);
  for (const Things* things : {&code_objects_, &programs_, &cgroups_}) {
    for (const auto& [id, records] : *things) {
      for (const KeptRecord& kept : records) told.push_back({kept.time, kept.sequence, 0, kept.record.get()});
    }
  }
  std::stable_sort(told.begin(), told.end(), [](const ToldRecord& a, const ToldRecord& b) { return a.before(b); });
  std::string block;
  for (const ToldRecord& record : told) {
    block += record.bytes();
    if (block.size() < kBlockBytes) continue;
    TEPHRA_CHECK_OK(write(base::as_bytes(block)));
    block.clear();
  }
  return block.empty() ? base::Status() : write(base::as_bytes(block));
}

SideBandCounts SideBandKeeper::counts() const {
  SideBandCounts counts = counts_;
  counts.processes = running_.size() + ended_.size();
  counts.ended_processes = ended_.size();
  return counts;
}

}  // namespace tephra::collect
