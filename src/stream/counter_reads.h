#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stream/decoder.h"
#include "stream/recording.h"

namespace tephra::stream {

// Samples that carry counter values (PERF_SAMPLE_READ), as the leader of a group `{a,b}:S` takes them for all members.
// As perf does, each stands for one sample of every counter in it that counted since its value was read last, with what
// it counted as the period. What a counter counted depends on the samples before, so all are noted first.
class CounterReads {
 public:
  // One of the samples that a record stands for.
  struct Part {
    uint32_t event = 0;
    uint64_t period = 0;
  };

  // Whether a recording has such samples; else the others need not be called.
  static bool has(const Recording& recording);

  // Notes a SAMPLE; what cannot be decoded or carries no values is skipped. Positions must ascend.
  void note(const Decoder& decoder, const Recording& recording, const Record& record, uint64_t position);
  // Once all are noted.
  void finish(const Decoder& decoder);

  // What the sample at a position stands for; nothing when no counter moved.
  std::span<const Part> of(uint64_t position) const;
  // Values of counters that the recording does not describe.
  uint64_t unknown() const { return unknown_; }

 private:
  struct Value {
    uint64_t id = 0;
    uint64_t value = 0;
    int32_t tid = 0;  // 0 where threads share the counter
  };
  struct Noted {
    uint64_t moment = 0;
    uint64_t position = 0;
    size_t first = 0;  // into values_, later into parts_
    size_t count = 0;
  };

  bool run_on_ = false;       // the first value of a counter holds what it counted before this file
  std::vector<Noted> noted_;  // by position
  std::vector<Value> values_;
  std::vector<Part> parts_;
  uint64_t unknown_ = 0;
};

}  // namespace tephra::stream
