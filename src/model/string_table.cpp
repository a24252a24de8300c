#include "model/string_table.h"

#include <algorithm>
#include <random>

#include "base/hash.h"

namespace tephra::model {
namespace {

constexpr size_t kBlockSize = 32 << 10;
constexpr size_t kFirstSlots = 64;

// Not the same in two processes, so that no file can be made of texts that all meet in one place.
uint64_t hash_of(std::string_view text) {
  static const uint64_t seed = uint64_t{std::random_device()()} << 32 | std::random_device()();
  return base::hash_bytes(base::as_bytes(text), seed);
}

}  // namespace

StringTable::StringTable() : views_(1), slots_(kFirstSlots) {}

StringTable::StringTable(const StringTable& other) { *this = other; }

StringTable& StringTable::operator=(const StringTable& other) {
  if (this == &other) return *this;
  blocks_.clear();
  views_.assign(1, {});
  views_.reserve(other.size());
  for (size_t i = 1; i < other.size(); ++i) views_.push_back(store(other.views_[i]));
  slots_ = other.slots_;
  return *this;
}

StringId StringTable::add(std::string_view text) {
  if (text.empty()) return {};
  const uint64_t hash = hash_of(text);
  size_t place = place_of(text, hash);
  if (slots_[place].id) return slots_[place].id;
  if (2 * views_.size() >= slots_.size()) {
    grow();
    place = place_of(text, hash);
  }
  const StringId id{static_cast<uint32_t>(views_.size())};
  views_.push_back(store(text));
  slots_[place] = {static_cast<uint32_t>(hash >> 32), id};
  return id;
}

StringId StringTable::find(std::string_view text) const {
  return text.empty() ? StringId{} : slots_[place_of(text, hash_of(text))].id;
}

size_t StringTable::place_of(std::string_view text, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  for (size_t place = hash & mask;; place = (place + 1) & mask) {
    const Slot& slot = slots_[place];
    if (!slot.id || (slot.hash == hash >> 32 && views_[slot.id.value] == text)) return place;
  }
}

void StringTable::grow() {
  slots_.assign(2 * slots_.size(), {});
  const size_t mask = slots_.size() - 1;
  for (uint32_t i = 1; i < views_.size(); ++i) {
    const uint64_t hash = hash_of(views_[i]);
    size_t place = hash & mask;
    while (slots_[place].id) place = (place + 1) & mask;
    slots_[place] = {static_cast<uint32_t>(hash >> 32), StringId{i}};
  }
}

std::string_view StringTable::store(std::string_view text) {
  if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < text.size()) {
    blocks_.emplace_back().reserve(std::max(kBlockSize, text.size()));
  }
  auto& block = blocks_.back();
  const size_t at = block.size();
  block.append(text);
  return std::string_view(block).substr(at, text.size());
}

}  // namespace tephra::model
