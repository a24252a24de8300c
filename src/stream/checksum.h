#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"

namespace tephra::stream {

// Tells damage in what recordings store of tephra's own. Part of the file format: words of 8 bytes, the last one filled
// up with zeros, then the size. Each step can be undone, so a change within one word always shows.
class Checksum {
 public:
  void add(uint64_t word) { state_ = std::rotl((state_ ^ word) * 0x9e3779b97f4a7c15u, 29); }
  void add(base::Bytes bytes) {
    const size_t size = bytes.size();
    for (; bytes.size() >= sizeof(uint64_t); bytes = bytes.subspan(sizeof(uint64_t))) {
      add(base::load<uint64_t>(bytes.data()));
    }
    uint64_t last = 0;
    if (!bytes.empty()) std::memcpy(&last, bytes.data(), bytes.size());
    add(last);
    add(uint64_t{size});
  }
  uint64_t value() const { return state_ ^ state_ >> 32; }

 private:
  uint64_t state_ = 0x5450484e414d4553u;
};

}  // namespace tephra::stream
