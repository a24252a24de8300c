#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace tephra::stream {

// Where a number is in the raw data of a tracepoint's samples. Found once (TracepointFormats::number), so that reading
// it is quick and threads may share it.
struct TracepointField {
  uint32_t offset = 0;
  uint32_t size = 0;  // 1, 2, 4 or 8
  bool is_signed = false;

  // Its bits, with the sign extended; nothing where the sample is too short.
  std::optional<uint64_t> bits(base::Bytes raw) const {
    if (offset > raw.size() || size > raw.size() - offset) return {};
    const std::byte* at = raw.data() + offset;
    switch (size) {
      case 1:
        return widen<uint8_t, int8_t>(at);
      case 2:
        return widen<uint16_t, int16_t>(at);
      case 4:
        return widen<uint32_t, int32_t>(at);
      case 8:
        return base::load<uint64_t>(at);
      default:
        return {};
    }
  }
  bool is_negative(uint64_t bits) const { return is_signed && static_cast<int64_t>(bits) < 0; }

 private:
  template <class Unsigned, class Signed>
  uint64_t widen(const std::byte* at) const {
    return is_signed ? static_cast<uint64_t>(int64_t{base::load<Signed>(at)}) : base::load<Unsigned>(at);
  }
};

}  // namespace tephra::stream
