#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/bytes.h"
#include "model/id.h"
#include "stream/address_space.h"

namespace tephra::stream {

// What makes samples equal for a profile that does not keep single ones. The chain points into the recording, or into
// the table that holds the key.
struct SampleKey {
  uint32_t event = 0;
  int32_t pid = -1;
  int32_t tid = -1;
  int32_t cpu = -1;   // -1 where CPUs are not kept apart
  uint64_t time = 0;  // where its step of time begins; 0 where times are not kept apart
  model::StringId comm;
  AddressSpaces::State user_space = AddressSpaces::kEmpty;
  AddressSpaces::State space_before_exec = AddressSpaces::kEmpty;  // only for samples taken in the kernel
  AddressSpaces::State kernel_space = AddressSpaces::kEmpty;
  uint32_t jit = 0;     // JitCode::View
  uint32_t labels = 0;  // as in Sample
  uint16_t mode = 0;    // PERF_RECORD_MISC_* processor mode
  bool has_callchain = false;
  bool has_user_stack = false;   // a copy of the user stack was recorded
  uint8_t walk_end = 0;          // WalkEnd::byte
  uint32_t exact_addresses = 0;  // how many user addresses after the leaf are not return addresses but where calls are
  uint64_t ip = 0;               // 0 where the chain says it
  base::Words callchain;

  uint64_t hash() const;
  bool operator==(const SampleKey& other) const;
};

// Counts equal samples. Rows are in the order of their first sample. Keeps copies of the chains, so that looking at a
// row does not bring the recording's pages back into memory.
class SampleTable {
 public:
  struct Row {
    SampleKey key;
    uint64_t hash = 0;
    uint64_t first_position = 0;  // in the recording, of the first sample
    uint64_t count = 0;
    uint64_t value = 0;
  };

  // The row for `key`, made if need be.
  uint32_t find_or_add(const SampleKey& key, uint64_t position);
  uint32_t find_or_add(const SampleKey& key, uint64_t hash, uint64_t position);
  void add(const SampleKey& key, uint64_t position, uint64_t count, uint64_t value);
  // Adds all rows of another table.
  void merge(const SampleTable& other);
  // Orders rows by the place of their first sample, so that the result does not depend on who read what.
  void sort();

  const std::vector<Row>& rows() const { return rows_; }

 private:
  void grow();
  base::Words keep(const base::Words& chain);

  std::vector<Row> rows_;
  std::deque<std::vector<std::byte>> chains_;  // blocks that never grow beyond what they reserved
  std::vector<uint32_t> slots_;                // open addressing; row number + 1, 0 is free
};

}  // namespace tephra::stream
