#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace tephra::base {

// The hash function SHA-256 of FIPS 180-4. For identities that must not tell what they are of; not tuned for speed.
class Sha256 {
 public:
  using Digest = std::array<std::byte, 32>;

  void add(Bytes bytes);
  // The digest of all that was added. The object is spent.
  Digest finish();

  static Digest of(Bytes bytes);

 private:
  static constexpr size_t kBlock = 64;
  void take_block(const std::byte* block);

  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, kBlock> waiting_{};
  size_t waiting_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

// HMAC-SHA256 of RFC 2104: a hash of `message` that nobody can compute, or try guesses against, without `key`.
Sha256::Digest hmac_sha256(Bytes key, Bytes message);

}  // namespace tephra::base
