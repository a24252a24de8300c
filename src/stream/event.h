#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "base/bytes.h"
#include "model/build_id.h"
#include "model/profile.h"

namespace tephra::stream {

// Events are what record bytes mean. Members are spans and views into the record; they live as long as the bytes do.

// Fields that a record may carry whatever its type (perf's sample_id_all trailer, or a sample's own). What the file
// does not record is -1 or 0.
struct Origin {
  uint64_t time = 0;
  int32_t pid = -1;
  int32_t tid = -1;
  int32_t cpu = -1;
  uint32_t event = 0;  // index into Recording::events
};

// Words of a call chain from here up are markers that say where the addresses behind them were (PERF_CONTEXT_*).
inline constexpr uint64_t kFirstChainMarker = static_cast<uint64_t>(-4095);

// Whether a call chain holds any address, not markers alone.
inline bool has_addresses(const base::Words& chain) {
  for (size_t i = 0; i < chain.size(); ++i) {
    if (chain[i] < kFirstChainMarker) return true;
  }
  return false;
}

// Values of counters at the moment of a sample (PERF_SAMPLE_READ), each with the id of its event.
struct ReadValues {
  base::Words words;
  size_t stride = 0;     // words from one counter to the next
  size_t id_offset = 0;  // from a counter's value to its id

  size_t size() const { return stride == 0 ? 0 : words.size() / stride; }
  uint64_t value(size_t i) const { return words[i * stride]; }
  uint64_t id(size_t i) const { return words[i * stride + id_offset]; }
};

// The processor's record of branches (PERF_SAMPLE_BRANCH_STACK), the newest first. In call-stack mode these are the
// calls that have not returned.
struct BranchStack {
  base::Words words;            // from, to and flags of each
  int64_t hardware_index = -1;  // which of the processor's registers holds the newest; -1: not told

  size_t size() const { return words.size() / 3; }
  uint64_t from(size_t i) const { return words[i * 3]; }
  uint64_t to(size_t i) const { return words[i * 3 + 1]; }
  uint64_t flags(size_t i) const { return words[i * 3 + 2]; }
};

struct Sample {
  Origin origin;
  uint64_t ip = 0;
  uint64_t address = 0;
  uint64_t period = 1;
  uint64_t count = 1;     // how many samples the record stands for, where the file was written from a profile
  uint32_t labels = 0;    // what a reading says of it: ReadingIndex's number of a set of labels
  uint16_t misc = 0;      // the record header's, whose low bits tell kernel from user
  base::Words callchain;  // leaf first, with perf's context markers
  bool has_callchain = false;
  ReadValues read;  // empty where the values have no ids
  base::Bytes raw;  // tracepoint data
  BranchStack branches;
  uint64_t user_registers_abi = 0;
  base::Bytes user_registers;
  base::Bytes user_stack;        // cut to what the kernel really copied
  size_t user_stack_room = 0;    // the size of the copy in the record
  uint64_t data_page_size = 0;   // of the page that holds `address`; 0: not told
  bool user_stack_full = false;  // nothing had to be cut: there may be more of the stack
};

struct Mmap {
  Origin origin;
  int32_t pid = -1;
  int32_t tid = -1;
  uint64_t start = 0;
  uint64_t size = 0;
  uint64_t file_offset = 0;
  bool kernel = false;
  bool executable = true;
  bool generated = false;  // simpleperf: a piece of generated code, whose names are by absolute addresses
  model::FileIdentity file;
  model::BuildId build_id;
  std::string_view path;
};

struct Comm {
  Origin origin;
  int32_t pid = -1;
  int32_t tid = -1;
  bool exec = false;
  std::string_view name;
};

struct Fork {
  Origin origin;
  int32_t pid = -1;
  int32_t parent_pid = -1;
  int32_t tid = -1;
  int32_t parent_tid = -1;
  // The process was already running when the recording began: the record was made from /proc, to tell who its parent
  // is. Nothing was copied.
  bool synthesized = false;
};

struct Exit {
  Origin origin;
  int32_t pid = -1;
  int32_t tid = -1;
};

// Losses. perf 6.1 and later repeat the same losses as LOST_SAMPLES at the end; see Recording.
struct Lost {
  Origin origin;
  uint64_t count = 0;
  bool samples_record = false;  // LOST_SAMPLES rather than LOST
};

struct Throttle {
  Origin origin;
  bool on = true;
};

struct Switch {
  Origin origin;
  bool out = false;
};

// A piece of kernel code that appeared or went (KSYMBOL).
struct CodeObject {
  Origin origin;
  uint64_t address = 0;
  uint64_t size = 0;
  bool removed = false;
  std::string_view name;
};

// The writer drained every ring once: nothing later is older than what came before the previous such mark.
struct FinishedRound {};

// A record that is known and means nothing to a profile.
struct Ignored {
  uint32_t type = 0;
};

// A record of a type that is not known.
struct Unknown {
  uint32_t type = 0;
};

// A record whose size does not hold what its type promises.
struct Malformed {
  uint32_t type = 0;
};

using Event = std::variant<Ignored, Sample, Mmap, Comm, Fork, Exit, Lost, Throttle, Switch, CodeObject, FinishedRound,
                           Unknown, Malformed>;

}  // namespace tephra::stream
