#include "collect/parts.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstring>

namespace tephra::collect {
namespace {

// Copies a header that may be split; the caller knows that it is there.
perf_event_header header_at(std::span<const iovec> parts, uint64_t offset) {
  perf_event_header header{};
  auto* to = reinterpret_cast<char*>(&header);
  size_t wanted = sizeof header;
  for (const iovec& part : parts) {
    if (offset >= part.iov_len) {
      offset -= part.iov_len;
      continue;
    }
    const size_t count = std::min<size_t>(wanted, part.iov_len - offset);
    std::memcpy(to, static_cast<const char*>(part.iov_base) + offset, count);
    to += count;
    wanted -= count;
    offset = 0;
    if (wanted == 0) break;
  }
  return header;
}

}  // namespace

uint64_t total_bytes(std::span<const iovec> parts) {
  uint64_t total = 0;
  for (const iovec& part : parts) total += part.iov_len;
  return total;
}

std::span<iovec> skip_front(std::span<iovec> parts, uint64_t bytes) {
  while (!parts.empty() && bytes >= parts[0].iov_len) {
    bytes -= parts[0].iov_len;
    parts = parts.subspan(1);
  }
  if (!parts.empty() && bytes > 0) {
    parts[0].iov_base = static_cast<char*>(parts[0].iov_base) + bytes;
    parts[0].iov_len -= bytes;
  }
  return parts;
}

std::vector<iovec> first_bytes(std::span<const iovec> parts, uint64_t bytes) {
  std::vector<iovec> front;
  for (const iovec& part : parts) {
    if (bytes == 0) break;
    front.push_back({part.iov_base, std::min<size_t>(part.iov_len, bytes)});
    bytes -= front.back().iov_len;
  }
  return front;
}

uint64_t whole_records_within(std::span<const iovec> parts, uint64_t limit) {
  const uint64_t end = std::min(total_bytes(parts), limit);
  uint64_t taken = 0;
  uint64_t passed = 0;  // bytes of parts that lie wholly behind
  while (end - taken >= sizeof(perf_event_header)) {
    while (taken - passed >= parts[0].iov_len) {
      passed += parts[0].iov_len;
      parts = parts.subspan(1);
    }
    const uint64_t size = header_at(parts, taken - passed).size;
    if (size < sizeof(perf_event_header) || size > end - taken) break;
    taken += size;
  }
  return taken;
}

}  // namespace tephra::collect
