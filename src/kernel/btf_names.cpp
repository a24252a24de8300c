#include "kernel/btf_names.h"

#include <algorithm>

namespace tephra::kernel {
namespace {

using base::ByteReader;
using base::Bytes;

// What follows the common part of a type, in bytes; nothing for a kind that is not known.
std::optional<uint64_t> tail_size(uint32_t kind, uint32_t members) {
  constexpr uint32_t kLastKind = 19;
  if (kind == 0 || kind > kLastKind) return std::nullopt;
  switch (kind) {
    case 1:   // an integer
    case 14:  // a variable
    case 17:  // a tag of a declaration
      return 4;
    case 3:  // an array
      return 12;
    case 4:   // a struct
    case 5:   // a union
    case 15:  // a section
    case 19:  // an enumeration of 64 bits
      return uint64_t{12} * members;
    case 6:   // an enumeration
    case 13:  // a function's signature
      return uint64_t{8} * members;
    default:
      return 0;
  }
}

bool is_name(Bytes strings, uint32_t offset, std::string_view name) {
  if (offset >= strings.size() || strings.size() - offset <= name.size()) return false;
  const Bytes there = strings.subspan(offset, name.size() + 1);
  return there.back() == std::byte{0} && std::ranges::equal(there.first(name.size()), base::as_bytes(name));
}

}  // namespace

std::optional<uint32_t> find_btf_type(Bytes btf, BtfKind kind, std::string_view name) {
  constexpr uint16_t kMagic = 0xeb9f;
  ByteReader header(btf);
  if (header.u16() != kMagic) return std::nullopt;
  header.skip(2);
  const uint32_t header_size = header.u32();
  const uint64_t types_at = uint64_t{header_size} + header.u32();
  const uint32_t types_size = header.u32();
  const uint64_t strings_at = uint64_t{header_size} + header.u32();
  const uint32_t strings_size = header.u32();
  if (!header.ok() || types_at + types_size > btf.size() || strings_at + strings_size > btf.size()) {
    return std::nullopt;
  }
  const Bytes strings = btf.subspan(strings_at, strings_size);
  ByteReader types(btf.subspan(types_at, types_size));
  for (uint32_t id = 1; !types.at_end() && types.ok(); ++id) {
    const uint32_t name_offset = types.u32();
    const uint32_t info = types.u32();
    types.skip(4);
    const uint32_t this_kind = info >> 24 & 0x1f;
    if (this_kind == static_cast<uint32_t>(kind) && is_name(strings, name_offset, name)) return id;
    const auto tail = tail_size(this_kind, info & 0xffff);
    if (!tail) return std::nullopt;
    types.skip(*tail);
  }
  return std::nullopt;
}

}  // namespace tephra::kernel
