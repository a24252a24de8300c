#pragma once

#include <cstdint>
#include <deque>
#include <string>

namespace tephra::collect {

// The newest of the samples that were walked in the kernel, for snapshots: what rings that overwrite themselves are for
// other samples.
class WalkedSamples {
 public:
  // Whole records. The oldest are dropped when there are more than `most_bytes`.
  void add(std::string records, uint64_t most_bytes);

  // Records in order of time, as a snapshot of rings has them, together with the samples that are not older than
  // `not_before`, in order of time.
  std::string merged_with(const std::string& records, uint64_t not_before) const;

  uint64_t bytes() const { return bytes_; }

 private:
  std::deque<std::string> blocks_;
  uint64_t bytes_ = 0;
};

}  // namespace tephra::collect
