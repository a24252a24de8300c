#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace tephra::base {

using Bytes = std::span<const std::byte>;

inline Bytes as_bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }
inline std::string_view as_text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Reads a trivially copyable value that need not be aligned. The caller has checked the bounds.
template <class T>
T load(const std::byte* at) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// A bounds-checked walk over bytes in host byte order. The first read past the end makes the reader fail for good:
// it returns zeros and empty spans from then on, so a parser can read a whole structure and ask ok() once.
class ByteReader {
 public:
  explicit ByteReader(Bytes bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }
  bool at_end() const { return remaining() == 0; }

  template <class T>
  T read() {
    if (!take(sizeof(T))) return T{};
    return load<T>(bytes_.data() + position_ - sizeof(T));
  }
  uint8_t u8() { return read<uint8_t>(); }
  uint16_t u16() { return read<uint16_t>(); }
  uint32_t u32() { return read<uint32_t>(); }
  uint64_t u64() { return read<uint64_t>(); }

  Bytes bytes(size_t count) {
    if (!take(count)) return {};
    return bytes_.subspan(position_ - count, count);
  }
  void skip(size_t count) { take(count); }

  // Text up to a NUL, which is consumed; fails where there is none.
  std::string_view c_string() {
    const auto rest = as_text(bytes_.subspan(position_));
    const size_t end = rest.find('\0');
    if (!ok_ || end == std::string_view::npos) {
      ok_ = false;
      return {};
    }
    position_ += end + 1;
    return rest.substr(0, end);
  }

  void fail() { ok_ = false; }

 private:
  bool take(size_t count) {
    if (!ok_ || count > remaining()) {
      ok_ = false;
      return false;
    }
    position_ += count;
    return true;
  }

  Bytes bytes_;
  size_t position_ = 0;
  bool ok_ = true;
};

// Text in a field of fixed width, up to its first NUL.
inline std::string_view until_nul(Bytes field) {
  const auto text = as_text(field);
  return text.substr(0, text.find('\0'));
}

// A span of 64-bit words that need not be aligned, as call chains in a file may be.
class Words {
 public:
  Words() = default;
  Words(const std::byte* data, size_t count) : data_(data), count_(count) {}

  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  uint64_t operator[](size_t index) const { return load<uint64_t>(data_ + index * sizeof(uint64_t)); }
  Bytes bytes() const { return {data_, count_ * sizeof(uint64_t)}; }
  Words first(size_t count) const { return {data_, count < count_ ? count : count_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t count_ = 0;
};

}  // namespace tephra::base
