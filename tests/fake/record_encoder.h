#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "behaviour.h"

namespace tephra::fake {

// When, where and by which event a record was made.
struct RecordOrigin {
  pid_t pid = 0;
  pid_t tid = 0;
  int cpu = 0;
  uint64_t time = 0;
  uint64_t id = 0;
  uint64_t stream_id = 0;
};

// What a sample tells beyond its origin. Fields that the event does not ask for are not written.
struct SampleFacts {
  Place place;
  std::vector<Branch> branches;
  uint64_t number = 0;  // the machine's samples so far; the made-up facts below depend on it alone
  uint64_t period = 0;
  std::string read;  // what a read of the event gives
  std::string raw;
};

// Made-up facts of the nth sample, for tests to compare with.
uint64_t data_address(uint64_t number);
uint64_t physical_address(uint64_t number);
uint64_t data_source(uint64_t number);
perf_sample_weight sample_weight(uint64_t number);
uint64_t register_value(uint64_t number, int index);
inline constexpr uint64_t kCgroupId = 4711;
inline constexpr uint64_t kPageBytes = 4096;

std::string encode_sample(const perf_event_attr& attr, const RecordOrigin& origin, const SampleFacts& facts);

// A record that is not a sample, with the trailer that the event asks for.
std::string encode_record(const perf_event_attr& attr, const RecordOrigin& origin, uint32_t type, uint16_t misc,
                          std::string_view body);

std::string mmap_body(pid_t pid, pid_t tid, const Mapping& mapping, bool second_form, bool with_build_id);
std::string comm_body(pid_t pid, pid_t tid, std::string_view comm);

template <class T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace tephra::fake
