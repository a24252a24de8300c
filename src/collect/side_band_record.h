#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace tephra::collect {

// A record about processes or kernel code, and the few of its fields that decide how long it is needed.
struct SideBandRecord {
  uint32_t type = 0;
  pid_t pid = 0;
  pid_t tid = 0;
  pid_t parent_pid = 0;  // of a FORK
  pid_t parent_tid = 0;
  uint64_t time = 0;
  uint64_t start = 0;  // of a mapping or of kernel code; of the other records that have one, their id
  uint64_t end = 0;
  bool exec = false;     // a COMM that came with a new program
  bool removal = false;  // of kernel code: it went
  std::pmr::string bytes;
};

// Whether records of that type are kept.
bool is_side_band(uint32_t type);

// Reads a whole record of such a type, which ends with a SampleIdTrailer. Null: it is too short for what it is.
std::shared_ptr<const SideBandRecord> read_side_band_record(base::Bytes record, std::pmr::memory_resource* memory);

// A name or a mapping as the record of a child that inherited it, from then on.
std::string as_inherited(const SideBandRecord& record, pid_t pid, pid_t tid, uint64_t time);

// A FORK that tells the parent and lets a reader copy nothing from it.
std::string without_copy(const SideBandRecord& fork);

}  // namespace tephra::collect
