#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "collect/counting_memory.h"
#include "collect/kept_process.h"
#include "kernel/ring_buffer.h"

namespace tephra::collect {

// Asked for a process with very many mappings: the kernel tells when memory is mapped and not when it is unmapped.
// Ranges in ascending order; none where that cannot be told.
using LiveRanges = std::function<std::vector<AddressRange>(pid_t)>;
// By /proc/PID/maps.
std::vector<AddressRange> mapped_ranges(pid_t pid);

struct SideBandLimits {
  size_t mappings_per_process = 4096;  // above it LiveRanges is asked which of them are left
  size_t most_per_process = 65536;     // above it the oldest quarter goes, and is counted
  size_t bytes = 256 << 20;            // above it what ended first is forgotten before its time
  size_t cgroups = 65536;              // above it those met first go, and are counted; the kernel tells no end of them
};

struct SideBandCounts {
  size_t processes = 0;           // kept, the ended ones too
  size_t ended_processes = 0;     // of those
  uint64_t lost = 0;              // records the kernel found no room for
  uint64_t malformed = 0;         // bytes that are no record, or a record too short for what it is
  uint64_t dropped_mappings = 0;  // because a process had too many
  uint64_t dropped_cgroups = 0;
  uint64_t forgotten_early = 0;  // ended processes and threads, because all of it took too many bytes;
  uint64_t forgotten_until = 0;  // samples older than this may be without names then
};

// Keeps the records about processes and kernel code that a snapshot needs to stand by itself, however long ago they
// came, and forgets what no sample can refer to any more. What it holds is bounded by what lives, not by the time.
//
// A record is needed from its time until another takes its place: a new name, a mapping over it, an exec, an exit. That
// it was replaced matters only to samples after that, so it stays until forget_before says that no older sample is
// left. A child has the name and the mappings of its parent; it keeps its own references to those records, as the
// parent may be forgotten first.
class SideBandKeeper {
 public:
  explicit SideBandKeeper(LiveRanges live_ranges = mapped_ranges, SideBandLimits limits = {});

  // Records as the kernel wrote them, with the trailer of SampleIdTrailer. What is not about processes is passed over.
  // They are copied; the ring may be released.
  void take(const kernel::Pending& pending);
  // Whole records, such as those of a Synthesizer.
  void take(base::Bytes records);
  // To be called when each ring was taken once. The rings of several CPUs are not in order of time among each other, so
  // records wait until the next round has shown that nothing older can come.
  void end_round();

  // No sample older than this is left. Times that go back change nothing.
  void forget_before(uint64_t time);
  // Ends, at `now`, the processes that no longer exist: after losses an exit may not have been told.
  void forget_vanished(const std::function<bool(pid_t)>& exists, uint64_t now);

  // All records in order of time, in blocks, also those of the round under way. Where the parent of a process or thread
  // may be forgotten, the name and the mappings that it had from it become records of its own.
  base::Status write_to(const std::function<base::Status(base::Bytes)>& write);

  size_t bytes() const { return memory_->bytes(); }
  SideBandCounts counts() const;

 private:
  using Processes = std::pmr::unordered_map<pid_t, KeptProcess>;
  // Records of something that comes and goes and has an id.
  using Things = std::pmr::map<uint64_t, std::pmr::vector<KeptRecord>>;

  void take_one(base::Bytes record);
  void settle(uint64_t until);
  void apply(const std::shared_ptr<const SideBandRecord>& record);
  void apply_to_process(const KeptRecord& kept);
  void start_process(const KeptRecord& fork);
  void end_process(Processes::iterator found, uint64_t time);
  void apply_to_thing(Things& things, const KeptRecord& kept);
  KeptProcess& process_of(pid_t pid);
  void limit_mappings(KeptProcess& process, uint64_t time);
  void limit_bytes();
  size_t forget();

  LiveRanges live_ranges_;
  SideBandLimits limits_;
  std::unique_ptr<CountingMemory> memory_ = std::make_unique<CountingMemory>();
  std::pmr::vector<std::shared_ptr<const SideBandRecord>> waiting_;  // in the order they came
  uint64_t newest_ = 0;                                              // of the times taken
  uint64_t previous_newest_ = 0;                                     // when the round before ended
  uint64_t horizon_ = 0;                                             // what was replaced or ended before is forgotten
  uint64_t sequence_ = 0;
  size_t limit_above_ = 0;  // bytes
  Processes running_;
  std::pmr::deque<KeptProcess> ended_;           // in the order of their ends
  std::set<pid_t> stale_;                        // running processes that have something to forget
  std::unordered_map<pid_t, size_t> ask_above_;  // mappings, for those of which LiveRanges was asked
  Things code_objects_;                          // KSYMBOL by address
  Things programs_;                              // BPF_EVENT by program
  Things cgroups_;
  SideBandCounts counts_;
};

}  // namespace tephra::collect
