#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <vector>

namespace tephra::collect {

// Bytes in several places that are written one after the other.

uint64_t total_bytes(std::span<const iovec> parts);

// Drops so many bytes from the front; the parts are changed.
std::span<iovec> skip_front(std::span<iovec> parts, uint64_t bytes);

// The first bytes, at most `bytes` of them.
std::vector<iovec> first_bytes(std::span<const iovec> parts, uint64_t bytes);

// The size of the whole records at the front that take at most `limit` bytes. The parts begin with a record; records
// may be split between parts.
uint64_t whole_records_within(std::span<const iovec> parts, uint64_t limit);

}  // namespace tephra::collect
