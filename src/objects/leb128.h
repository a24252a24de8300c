#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace tephra::objects {

// Numbers of variable length, seven bits a byte. Bits beyond 64 are dropped; the reader fails at the end of its bytes.
inline uint64_t read_uleb(base::ByteReader& reader) {
  uint64_t value = 0;
  for (unsigned shift = 0; reader.ok(); shift += 7) {
    const uint8_t byte = reader.u8();
    if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) break;
  }
  return value;
}

inline int64_t read_sleb(base::ByteReader& reader) {
  uint64_t value = 0;
  unsigned shift = 0;
  uint8_t byte = 0x80;
  while (reader.ok() && (byte & 0x80) != 0) {
    byte = reader.u8();
    if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    shift += 7;
  }
  if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
  return static_cast<int64_t>(value);
}

}  // namespace tephra::objects
