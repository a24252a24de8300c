#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "kernel/ring_buffer.h"

namespace tephra::collect {

// Records of rings that are written backwards, as RingBuffer::snapshot gives them: whole and newest first.

// The time of the oldest sample of a ring; nothing when it holds none. May be asked while the kernel writes: then the
// answer may be too old, never too new.
std::optional<uint64_t> oldest_sample_time(const kernel::Pending& ring);

// Hands out the records of all rings in order of time, in blocks. perf sorts what lies between two ends of rounds
// however it stands there, but others give up on sorting after some MiB, and a file in order is read by all of them.
// Records older than `not_before` are left out: a CPU with little to do keeps its samples for hours, and the names they
// need would have to be kept as long. The rings must stand still meanwhile.
base::Status write_oldest_first(std::span<const kernel::Pending> rings, uint64_t not_before,
                                const std::function<base::Status(base::Bytes)>& write);

}  // namespace tephra::collect
