#include "base/sha256.h"

#include <endian.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace tephra::base {
namespace {

// The fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRounds{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::array<uint32_t, 64> schedule(const std::byte* block) {
  std::array<uint32_t, 64> words{};
  for (size_t i = 0; i < 16; ++i) words[i] = be32toh(load<uint32_t>(block + i * 4));
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t a = words[i - 15];
    const uint32_t b = words[i - 2];
    words[i] = words[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + words[i - 7] +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  return words;
}

}  // namespace

void Sha256::take_block(const std::byte* block) {
  const auto words = schedule(block);
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t choice = (e & f) ^ (~e & g);
    const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    const uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + choice + kRounds[i] + words[i];
    const uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + majority;
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const std::array<uint32_t, 8> added{a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state_.size(); ++i) state_[i] += added[i];
}

void Sha256::add(Bytes bytes) {
  total_bytes_ += bytes.size();
  while (!bytes.empty()) {
    if (waiting_bytes_ == 0 && bytes.size() >= kBlock) {
      take_block(bytes.data());
      bytes = bytes.subspan(kBlock);
      continue;
    }
    const size_t count = std::min(kBlock - waiting_bytes_, bytes.size());
    std::copy_n(bytes.begin(), count, waiting_.begin() + static_cast<ptrdiff_t>(waiting_bytes_));
    waiting_bytes_ += count;
    bytes = bytes.subspan(count);
    if (waiting_bytes_ < kBlock) return;
    take_block(waiting_.data());
    waiting_bytes_ = 0;
  }
}

Sha256::Digest Sha256::finish() {
  const uint64_t bits = htobe64(total_bytes_ * 8);
  const std::array<std::byte, kBlock> padding{std::byte{0x80}};
  const size_t until_length = (kBlock + 56 - 1 - waiting_bytes_) % kBlock + 1;
  add(Bytes(padding).first(until_length));
  add(std::as_bytes(std::span(&bits, 1)));
  Digest digest;
  for (size_t i = 0; i < state_.size(); ++i) {
    const uint32_t word = htobe32(state_[i]);
    std::memcpy(digest.data() + i * 4, &word, sizeof word);
  }
  return digest;
}

Sha256::Digest Sha256::of(Bytes bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

Sha256::Digest hmac_sha256(Bytes key, Bytes message) {
  constexpr size_t kBlock = 64;
  std::array<std::byte, kBlock> inner{};
  if (key.size() > kBlock) {
    std::ranges::copy(Sha256::of(key), inner.begin());
  } else {
    std::ranges::copy(key, inner.begin());
  }
  std::array<std::byte, kBlock> outer = inner;
  for (std::byte& byte : inner) byte ^= std::byte{0x36};
  for (std::byte& byte : outer) byte ^= std::byte{0x5c};
  Sha256 first;
  first.add(inner);
  first.add(message);
  Sha256 second;
  second.add(outer);
  second.add(first.finish());
  return second.finish();
}

}  // namespace tephra::base
