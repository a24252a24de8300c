#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace tephra::base {

// Mixes two words into one; the product of 128 bits folded, which spreads every input bit.
inline uint64_t mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd1b54a32d192ed03u);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// A fast hash for tables in memory. Not stable across versions. Texts can be made that have the same hash by whoever
// knows the seed.
inline uint64_t hash_bytes(Bytes bytes, uint64_t seed = 0) {
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  uint64_t hash = seed ^ (left * 0x9e3779b97f4a7c15u);
  while (left >= 16) {
    hash = mix(hash ^ load<uint64_t>(at), seed ^ load<uint64_t>(at + 8));
    at += 16;
    left -= 16;
  }
  uint64_t low = 0;
  uint64_t high = 0;
  if (left >= 8) {
    low = load<uint64_t>(at);
    at += 8;
    left -= 8;
  }
  if (left > 0) std::memcpy(&high, at, left);
  return mix(hash ^ low, seed ^ high);
}

}  // namespace tephra::base
