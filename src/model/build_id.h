#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace tephra::model {

// The identity the linker gave a code object; at most 20 bytes, empty when unknown.
class BuildId {
 public:
  static constexpr size_t kMostBytes = 20;

  BuildId() = default;
  explicit BuildId(base::Bytes bytes) {
    size_ = static_cast<uint8_t>(std::min(bytes.size(), bytes_.size()));
    std::copy_n(bytes.begin(), size_, bytes_.begin());
  }

  bool empty() const { return size_ == 0; }
  base::Bytes bytes() const { return {bytes_.data(), size_}; }
  std::string hex() const;
  // Nothing when the text is not hexadecimal, or longer than a build id is.
  static std::optional<BuildId> from_hex(std::string_view text);
  auto operator<=>(const BuildId&) const = default;

 private:
  std::array<std::byte, kMostBytes> bytes_{};
  uint8_t size_ = 0;
};

}  // namespace tephra::model
