#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "stream/recorded_walks.h"
#include "stream/unwinder.h"

namespace tephra::stream {

// Tells the walks that the recorder stored, and leaves all others to another unwinder.
class RecordedUnwinder final : public Unwinder {
 public:
  // Both must outlive it; `inner` may be null.
  RecordedUnwinder(const RecordedWalks& walks, Unwinder* inner) : walks_(walks), inner_(inner) {}

  std::unique_ptr<Walker> walker(const AddressSpaces& spaces, const JitCode& code, const model::Profile& so_far,
                                 std::string_view machine) override;

 private:
  const RecordedWalks& walks_;
  Unwinder* inner_;
};

// Lets another unwinder walk, and keeps all walks, to be stored.
class WalkKeeper final : public Unwinder {
 public:
  explicit WalkKeeper(Unwinder& inner) : inner_(inner) {}

  std::unique_ptr<Walker> walker(const AddressSpaces& spaces, const JitCode& code, const model::Profile& so_far,
                                 std::string_view machine) override;
  // What was walked by walkers that are gone.
  RecordedWalks take() &&;

 private:
  class KeepingWalker;
  // The number of a chain, which is stored once.
  uint32_t add_chain(std::span<const uint64_t> addresses, WalkEnd end);

  Unwinder& inner_;
  std::mutex mutex_;
  RecordedWalks walks_;
  std::unordered_multimap<uint64_t, uint32_t> chains_;  // by hash
};

}  // namespace tephra::stream
