#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stream/walk_end.h"

namespace tephra::stream {

// The user addresses of samples that carry a copy of their stack, walked by the recorder while the files with the
// call-frame information were at hand. By the sample's position in the records; a chain that several samples have is
// stored once.
class RecordedWalks {
 public:
  struct Chain {
    std::span<const uint64_t> addresses;  // leaf first
    WalkEnd end;
  };
  struct Walk {
    uint64_t position = 0;
    uint32_t chain = 0;  // number of the chain
    bool operator==(const Walk&) const = default;
  };

  // Adds a chain; its number.
  uint32_t add_chain(std::span<const uint64_t> addresses, WalkEnd end);
  // `chain` is a number that add_chain gave.
  void add_walk(uint64_t position, uint32_t chain) { walks_.push_back({position, chain}); }
  // Sorts the walks; to be called before find. Of two walks at one position one stays.
  void finish();

  // The chain of the sample at `position`; false when it was not walked.
  bool find(uint64_t position, Chain& chain) const;

  bool empty() const { return walks_.empty(); }
  size_t chain_count() const { return ends_.size(); }
  Chain chain(uint32_t number) const;
  const std::vector<Walk>& walks() const { return walks_; }

 private:
  std::vector<uint64_t> addresses_;
  std::vector<uint64_t> firsts_{0};  // where the addresses of each chain begin, and where the last end
  std::vector<uint8_t> ends_;
  std::vector<Walk> walks_;
};

}  // namespace tephra::stream
