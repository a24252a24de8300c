#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace tephra::stream {

// How records and feature sections hold values.

template <class T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Text as perf stores it: its length, then the bytes padded with NULs to 64.
inline void put_text(std::string& out, std::string_view text) {
  const size_t padded = (text.size() + 1 + 63) / 64 * 64;
  put(out, static_cast<uint32_t>(padded));
  out += text;
  out.append(padded - text.size(), '\0');
}

// A name in a record ends with a NUL and fills whole words. What a name may not hold is cut.
inline void put_name(std::string& out, std::string_view name, size_t limit) {
  name = name.substr(0, std::min(name.find('\0'), limit));
  out += name;
  out.append(8 - name.size() % 8, '\0');
}

}  // namespace tephra::stream
