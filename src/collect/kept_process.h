#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <string>
#include <tuple>
#include <vector>

#include "collect/side_band_record.h"

namespace tephra::collect {

// A record and the time that it is needed for: until another took its place.
struct KeptRecord {
  std::shared_ptr<const SideBandRecord> record;
  uint64_t time = 0;      // the record's, or when it was inherited
  uint64_t sequence = 0;  // the order among equal times
  uint64_t replaced_at = UINT64_MAX;
  bool inherited = false;  // it is a record of the parent

  bool current() const { return replaced_at == UINT64_MAX; }
};

// A record as a snapshot tells it: as it came, or changed where a reader could no longer know what it relies on.
struct ToldRecord {
  uint64_t time = 0;
  uint64_t sequence = 0;  // the order among equal times
  uint64_t order = 0;     // the order among what was inherited in a fork, after the fork itself
  const SideBandRecord* record = nullptr;
  enum class Form { kAsItCame, kInherited, kForkWithoutCopy } form = Form::kAsItCame;
  pid_t pid = 0;  // who inherited it
  pid_t tid = 0;

  std::string bytes() const;
  bool before(const ToldRecord& other) const {
    return std::tie(time, sequence, order) < std::tie(other.time, other.sequence, other.order);
  }
};

// Where a process has memory now.
struct AddressRange {
  uint64_t start = 0;
  uint64_t end = 0;
};

// The records that describe a process between its start and its end. An id that is used again is another one of these.
class KeptProcess {
 public:
  using Mappings = std::pmr::multimap<uint64_t, KeptRecord>;  // by start; those that nothing covers

  KeptProcess(pid_t pid, std::pmr::memory_resource* memory);

  pid_t pid() const { return pid_; }
  bool running() const { return running_threads_ > 0; }
  uint64_t ended_at() const { return ended_at_; }
  size_t current_mappings() const { return mappings_->size(); }
  size_t all_mappings() const { return mappings_->size() + replaced_mappings_.size(); }
  // Whether forget_before may find something.
  bool has_replaced() const { return has_replaced_; }

  // The first thread of a process that `parent` started; it may be unknown.
  void start(const KeptRecord& fork, const KeptProcess* parent);
  void start_thread(const KeptRecord& fork);
  // An exec ends the other threads and all mappings.
  void rename(const KeptRecord& comm);
  void add_namespaces(const KeptRecord& namespaces);
  void add_mapping(const KeptRecord& mapping);
  void end_thread(const KeptRecord& exit);
  void end(uint64_t time);

  // Drops the records that no sample at or after `horizon` needs. How many threads went.
  size_t forget_before(uint64_t horizon);
  // Replaces the mappings that lie outside of all ranges, which are in ascending order.
  void keep_mappings_in(const std::vector<AddressRange>& ranges, uint64_t time);
  // Drops the oldest until that many are left; how many went.
  size_t limit_mappings(size_t most);

  // Adds all that a snapshot must tell.
  void tell(uint64_t horizon, std::vector<ToldRecord>& told) const;

 private:
  struct Thread {
    explicit Thread(std::pmr::memory_resource* memory) : records(memory) {}
    std::pmr::vector<KeptRecord> records;
    uint64_t ended_at = 0;  // when it last did
    bool running = false;
  };

  Thread& running_thread(pid_t tid);
  void stop(Thread& thread, uint64_t time);
  void inherit_name(Thread& child, const KeptProcess& parent, const KeptRecord& fork);
  void replace(Thread& thread, uint32_t type, uint64_t time);
  void add(Thread& thread, const KeptRecord& record);
  Mappings& own_mappings();
  void tell_mapping(const KeptRecord& kept, uint64_t horizon, std::vector<ToldRecord>& told) const;

  // The mappings that an exec ended.
  struct PastMappings {
    std::shared_ptr<const Mappings> mappings;
    uint64_t until = 0;
  };

  pid_t pid_;
  std::pmr::memory_resource* memory_;
  std::pmr::map<pid_t, Thread> threads_;
  std::shared_ptr<Mappings> mappings_;  // shared with children until one of them changes
  std::pmr::vector<KeptRecord> replaced_mappings_;
  std::pmr::vector<PastMappings> past_mappings_;
  uint64_t started_at_ = 0;
  uint64_t started_sequence_ = 0;
  size_t running_threads_ = 0;
  uint64_t ended_at_ = UINT64_MAX;
  bool has_replaced_ = false;
};

}  // namespace tephra::collect
