#include "objects/crc32.h"

#include <array>

namespace tephra::objects {
namespace {

// Eight bytes a step: table k advances a byte that stands k bytes before the end of the step.
constexpr auto kTables = [] {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? 0xedb88320u : 0);
    tables[0][byte] = value;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = before >> 8 ^ tables[0][before & 0xff];
    }
  }
  return tables;
}();

}  // namespace

uint32_t crc32(base::Bytes bytes) {
  uint32_t crc = ~0u;
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    uint32_t next = 0;
    for (size_t i = 0; i < 8; ++i) {
      const auto byte = static_cast<uint32_t>(at[i]) ^ (i < 4 ? crc >> (8 * i) & 0xff : 0);
      next ^= kTables[7 - i][byte];
    }
    crc = next;
  }
  for (; left > 0; --left, ++at) crc = crc >> 8 ^ kTables[0][(crc ^ static_cast<uint32_t>(*at)) & 0xff];
  return ~crc;
}

}  // namespace tephra::objects
