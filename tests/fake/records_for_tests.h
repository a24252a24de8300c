#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "fake_machine.h"
#include "kernel/perf_event.h"
#include "kernel/ring_buffer.h"

namespace tephra::fake {

// A record taken from a ring, cut into its header and body.
struct TakenRecord {
  perf_event_header header{};
  std::string body;

  template <class T>
  T at(size_t offset) const {
    T value{};
    if (offset + sizeof value <= body.size()) std::memcpy(&value, body.data() + offset, sizeof value);
    return value;
  }
};

// Takes all records that wait in a ring.
inline std::vector<TakenRecord> take_records(kernel::RingBuffer& ring) {
  const kernel::Pending pending = ring.pending();
  std::vector<TakenRecord> records;
  for (size_t offset = 0; offset < pending.size();) {
    TakenRecord record;
    pending.copy(offset, reinterpret_cast<std::byte*>(&record.header), sizeof record.header);
    if (record.header.size < sizeof record.header) break;
    record.body.resize(record.header.size - sizeof record.header);
    pending.copy(offset + sizeof record.header, reinterpret_cast<std::byte*>(record.body.data()), record.body.size());
    offset += record.header.size;
    records.push_back(std::move(record));
  }
  ring.release(pending.head);
  return records;
}

inline std::map<uint32_t, int> count_types(const std::vector<TakenRecord>& records) {
  std::map<uint32_t, int> types;
  for (const TakenRecord& record : records) ++types[record.header.type];
  return types;
}

inline perf_event_attr hardware_attr(uint64_t config) {
  perf_event_attr attr = kernel::empty_attr();
  attr.type = PERF_TYPE_HARDWARE;
  attr.config = config;
  return attr;
}

inline perf_event_attr cycles_attr(uint64_t period = 0) {
  perf_event_attr attr = hardware_attr(PERF_COUNT_HW_CPU_CYCLES);
  attr.sample_period = period;
  return attr;
}

// A task that exists only on the fake machine.
inline Task played_task(pid_t tid = 7'000'001, int cpu = 0) {
  machine().add_task(tid);
  Task task;
  task.pid = task.tid = tid;
  task.cpu = cpu;
  return task;
}

inline Behaviour running(const Task& task) {
  Behaviour behaviour;
  behaviour.running = {task};
  return behaviour;
}

}  // namespace tephra::fake
