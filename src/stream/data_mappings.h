#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/number_hash.h"
#include "stream/address_space.h"
#include "stream/recording.h"
#include "stream/records.h"

namespace tephra::stream {

// What a process had mapped at an address, whatever it holds.
enum class DataMapping : uint8_t {
  kNotTold,
  kHeap,
  kStack,
  kAnonymous,
  kFile,          // pages of a file that this process cannot write for itself: mapped shared, or without that right
  kPrivateFile,   // written pages are copies
  kSharedMemory,  // shared, and of no file on a disk
};

// Mappings of data over the time of a recording, from the records of mappings (attr.mmap_data) and of tasks: for faults
// that do not tell themselves what was there. The kernel does not record what is unmapped or moved (munmap, mremap), so
// an address may be told to be what was there before. Immutable once built.
class DataMappings {
 public:
  explicit DataMappings(const Recording& recording);

  struct Found {
    DataMapping mapping = DataMapping::kNotTold;
    bool forked = false;  // the process has the memory of another one, and has run no program since
  };
  Found at(int32_t pid, uint64_t time, uint64_t address) const;

 private:
  struct Change {
    uint64_t time = 0;
    AddressSpaces::State state = AddressSpaces::kEmpty;
    bool forked = false;
  };
  // What a record changes.
  struct Pending {
    uint64_t time = 0;
    int32_t pid = -1;
    int32_t parent = -1;  // of a fork, else -1
    bool exec = false;
    MappedRange range;  // whose mapping's number is a DataMapping
  };

  void apply(const Pending& pending);
  static bool read_mapping(const Record& record, Pending& pending);

  AddressSpaces spaces_;
  std::unordered_map<int32_t, std::vector<Change>, base::NumberHash> processes_;
};

}  // namespace tephra::stream
