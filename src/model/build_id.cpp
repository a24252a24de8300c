#include "model/build_id.h"

#include <charconv>

namespace tephra::model {

std::string BuildId::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes()) {
    text += kDigits[static_cast<unsigned>(byte) >> 4];
    text += kDigits[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

std::optional<BuildId> BuildId::from_hex(std::string_view text) {
  if (text.size() % 2 != 0 || text.size() > 2 * kMostBytes) return std::nullopt;
  std::array<std::byte, kMostBytes> bytes{};
  for (size_t i = 0; i < text.size() / 2; ++i) {
    uint8_t byte = 0;
    const char* const end = text.data() + 2 * i + 2;
    if (std::from_chars(end - 2, end, byte, 16).ptr != end) return std::nullopt;
    bytes[i] = std::byte{byte};
  }
  return BuildId(base::Bytes(bytes).first(text.size() / 2));
}

}  // namespace tephra::model
