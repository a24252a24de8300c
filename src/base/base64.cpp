#include "base/base64.h"

#include <string_view>

namespace tephra::base {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char digit(uint32_t group, int shift) { return kDigits[group >> shift & 63]; }

}  // namespace

void append_base64(std::string& out, Bytes bytes) {
  const auto byte = [&](size_t i) { return std::to_integer<uint32_t>(bytes[i]); };
  const size_t start = out.size();
  out.resize(start + (bytes.size() + 2) / 3 * 4);
  char* to = out.data() + start;
  size_t at = 0;
  for (; at + 3 <= bytes.size(); at += 3) {
    const uint32_t group = byte(at) << 16 | byte(at + 1) << 8 | byte(at + 2);
    for (const int shift : {18, 12, 6, 0}) *to++ = digit(group, shift);
  }
  const size_t rest = bytes.size() - at;
  if (rest == 0) return;
  const uint32_t group = byte(at) << 16 | (rest == 2 ? byte(at + 1) << 8 : 0);
  *to++ = digit(group, 18);
  *to++ = digit(group, 12);
  *to++ = rest == 2 ? digit(group, 6) : '=';
  *to++ = '=';
}

}  // namespace tephra::base
