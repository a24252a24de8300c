#include "stream/recorded_unwinder.h"

#include <algorithm>

#include "base/hash.h"

namespace tephra::stream {
namespace {

class RecordedWalker final : public Unwinder::Walker {
 public:
  RecordedWalker(const RecordedWalks& walks, std::unique_ptr<Walker> inner) : walks_(walks), inner_(std::move(inner)) {}

  WalkEnd walk(const RawStack& raw, const ProcessMemory& memory, std::vector<uint64_t>& addresses) override {
    RecordedWalks::Chain chain;
    const bool known = walks_.find(raw.position, chain);
    // A file that the recorder could not have may be at hand here.
    if (inner_ && (!known || chain.end.how == TEPHRA_WALK_NO_FILE)) {
      const size_t before = addresses.size();
      const WalkEnd end = inner_->walk(raw, memory, addresses);
      if (!known || addresses.size() - before > chain.addresses.size()) return end;
      addresses.resize(before);
    }
    if (!known) return TEPHRA_WALK_NOT_TOLD;
    addresses.insert(addresses.end(), chain.addresses.begin(), chain.addresses.end());
    return chain.end;
  }

 private:
  const RecordedWalks& walks_;
  std::unique_ptr<Walker> inner_;
};

}  // namespace

std::unique_ptr<Unwinder::Walker> RecordedUnwinder::walker(const AddressSpaces& spaces, const JitCode& code,
                                                           const model::Profile& so_far, std::string_view machine) {
  return std::make_unique<RecordedWalker>(walks_, inner_ ? inner_->walker(spaces, code, so_far, machine) : nullptr);
}

// Keeps what it walked to itself until it is destroyed, so that threads do not wait for each other.
class WalkKeeper::KeepingWalker final : public Unwinder::Walker {
 public:
  KeepingWalker(WalkKeeper& keeper, std::unique_ptr<Walker> inner) : keeper_(keeper), inner_(std::move(inner)) {}
  ~KeepingWalker() override {
    const std::lock_guard lock(keeper_.mutex_);
    for (const Kept& walk : kept_) {
      const std::span all(addresses_);
      keeper_.walks_.add_walk(walk.position, keeper_.add_chain(all.subspan(walk.first, walk.count), walk.end));
    }
  }

  WalkEnd walk(const RawStack& raw, const ProcessMemory& memory, std::vector<uint64_t>& addresses) override {
    const size_t before = addresses.size();
    const WalkEnd end = inner_->walk(raw, memory, addresses);
    kept_.push_back({raw.position, addresses_.size(), addresses.size() - before, end});
    addresses_.insert(addresses_.end(), addresses.begin() + static_cast<ptrdiff_t>(before), addresses.end());
    return end;
  }

 private:
  struct Kept {
    uint64_t position;
    size_t first;
    size_t count;
    WalkEnd end;
  };

  WalkKeeper& keeper_;
  std::unique_ptr<Walker> inner_;
  std::vector<Kept> kept_;
  std::vector<uint64_t> addresses_;
};

std::unique_ptr<Unwinder::Walker> WalkKeeper::walker(const AddressSpaces& spaces, const JitCode& code,
                                                     const model::Profile& so_far, std::string_view machine) {
  auto inner = inner_.walker(spaces, code, so_far, machine);
  if (!inner) return nullptr;
  return std::make_unique<KeepingWalker>(*this, std::move(inner));
}

uint32_t WalkKeeper::add_chain(std::span<const uint64_t> addresses, WalkEnd end) {
  const uint64_t hash = base::hash_bytes(std::as_bytes(addresses), end.byte());
  const auto [begin, stop] = chains_.equal_range(hash);
  for (auto at = begin; at != stop; ++at) {
    const RecordedWalks::Chain known = walks_.chain(at->second);
    if (known.end == end && std::ranges::equal(known.addresses, addresses)) return at->second;
  }
  const uint32_t number = walks_.add_chain(addresses, end);
  chains_.emplace(hash, number);
  return number;
}

RecordedWalks WalkKeeper::take() && {
  walks_.finish();
  return std::move(walks_);
}

}  // namespace tephra::stream
