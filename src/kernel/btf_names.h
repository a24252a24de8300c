#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace tephra::kernel {

// Kinds of types in BTF that a BPF program can be attached to.
enum class BtfKind : uint8_t { kTypedef = 8, kFunction = 12 };

// The id of the type of that kind and name in BTF, the kernel's description of its own types. Nothing where it is not
// there or the bytes are not BTF of this machine's byte order.
std::optional<uint32_t> find_btf_type(base::Bytes btf, BtfKind kind, std::string_view name);

}  // namespace tephra::kernel
