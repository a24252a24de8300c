#include "formats/script_blocks.h"

#include <random>
#include <utility>

namespace tephra::formats {
namespace {

struct Seeds {
  uint64_t first;
  uint64_t second;
};

Seeds random_seeds() {
  std::random_device random;
  const auto word = [&] { return uint64_t{random()} << 32 | random(); };
  return {word(), word()};
}

}  // namespace

// Two chains over all of the text, each with its seed: 128 bits.
TextKey key_of(std::string_view text) {
  static const Seeds seeds = random_seeds();
  const std::byte* at = base::as_bytes(text).data();
  size_t left = text.size();
  TextKey key{seeds.first ^ left, seeds.second + left};
  const auto add = [&](uint64_t low, uint64_t high) {
    key.first = base::mix(key.first ^ low, seeds.second ^ high);
    key.second = base::mix(key.second ^ high, seeds.first + low);
  };
  for (; left >= 16; left -= 16, at += 16) add(base::load<uint64_t>(at), base::load<uint64_t>(at + 8));
  uint64_t low = 0;
  uint64_t high = 0;
  if (left > 0) std::memcpy(&low, at, left < 8 ? left : 8);
  if (left > 8) std::memcpy(&high, at + 8, left - 8);
  add(low, high);
  return key;
}

KeyNumbers::Slot& KeyNumbers::slot_of(TextKey key) {
  size_t at = key.first & (slots_.size() - 1);
  while (slots_[at].number != kNew && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
  return slots_[at];
}

void KeyNumbers::grow() {
  constexpr size_t kSmallest = 1024;
  const std::vector<Slot> old =
      std::exchange(slots_, std::vector<Slot>(slots_.empty() ? kSmallest : slots_.size() * 2));
  for (const Slot& slot : old) {
    if (slot.number != kNew) slot_of(slot.key) = slot;
  }
}

uint32_t KeyNumbers::add(TextKey key) {
  if (used_ + used_ / 2 >= slots_.size()) grow();
  Slot& slot = slot_of(key);
  if (slot.number != kNew) return slot.number;
  slot = {key, used_++};
  return kNew;
}

}  // namespace tephra::formats
