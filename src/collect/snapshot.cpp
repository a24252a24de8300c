#include "collect/snapshot.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <queue>
#include <string>
#include <vector>

#include "collect/event_attr.h"

namespace tephra::collect {
namespace {

constexpr size_t kBlockBytes = 1 << 20;

size_t size_at(const kernel::Pending& ring, size_t offset) { return ring.word(offset) >> 48; }
bool is_sample(const kernel::Pending& ring, size_t offset) {
  return static_cast<uint32_t>(ring.word(offset)) == PERF_RECORD_SAMPLE;
}

// Where the time of a record stands; 0 when it is too short to have one.
size_t time_offset(const kernel::Pending& ring, size_t offset) {
  const size_t size = size_at(ring, offset);
  if (is_sample(ring, offset)) return size >= kSampleTimeOffset + sizeof(uint64_t) ? offset + kSampleTimeOffset : 0;
  if (size < sizeof(perf_event_header) + sizeof(SampleIdTrailer)) return 0;
  return offset + size - sizeof(SampleIdTrailer) + offsetof(SampleIdTrailer, time);
}

// The records of one ring from the oldest to the newest.
class OldestFirst {
 public:
  explicit OldestFirst(const kernel::Pending& ring) : ring_(ring) {
    for (size_t offset = 0; offset + sizeof(perf_event_header) <= ring.size();) {
      const size_t size = size_at(ring, offset);
      if (size < sizeof(perf_event_header) || size > ring.size() - offset) break;
      offsets_.push_back(offset);
      offset += size;
    }
    find_time();
  }

  bool done() const { return offsets_.empty(); }
  uint64_t time() const { return time_; }
  void skip_before(uint64_t time) {
    while (!done() && time_ < time) drop();
  }
  void move_to(std::string& out) {
    const size_t size = size_at(ring_, offsets_.back());
    const size_t at = out.size();
    out.resize(at + size);
    ring_.copy(offsets_.back(), reinterpret_cast<std::byte*>(out.data()) + at, size);
    drop();
  }

 private:
  void drop() {
    offsets_.pop_back();
    find_time();
  }
  // A record without a time goes with the one before it.
  void find_time() {
    if (done()) return;
    if (const size_t at = time_offset(ring_, offsets_.back()); at != 0) time_ = ring_.word(at);
  }

  kernel::Pending ring_;
  std::vector<size_t> offsets_;  // the oldest is the last
  uint64_t time_ = 0;
};

}  // namespace

std::optional<uint64_t> oldest_sample_time(const kernel::Pending& ring) {
  std::optional<uint64_t> oldest;
  for (size_t offset = 0; offset + sizeof(perf_event_header) <= ring.size();) {
    const size_t size = size_at(ring, offset);
    if (size < sizeof(perf_event_header) || size % sizeof(uint64_t) != 0 || size > ring.size() - offset) break;
    // The kernel may be writing here. A time of foreign bytes can only make the answer older, as whole samples count
    // too.
    if (is_sample(ring, offset) && size >= kSampleTimeOffset + sizeof(uint64_t)) {
      const uint64_t time = ring.word(offset + kSampleTimeOffset);
      oldest = std::min(oldest.value_or(time), time);
    }
    offset += size;
  }
  return oldest;
}

base::Status write_oldest_first(std::span<const kernel::Pending> rings, uint64_t not_before,
                                const std::function<base::Status(base::Bytes)>& write) {
  std::vector<OldestFirst> sources;
  for (const kernel::Pending& ring : rings) sources.emplace_back(ring).skip_before(not_before);
  const auto later = [&sources](size_t a, size_t b) {
    return std::pair(sources[a].time(), a) > std::pair(sources[b].time(), b);
  };
  std::priority_queue<size_t, std::vector<size_t>, decltype(later)> next(later);
  for (size_t i = 0; i < sources.size(); ++i) {
    if (!sources[i].done()) next.push(i);
  }
  std::string block;
  while (!next.empty()) {
    const size_t source = next.top();
    next.pop();
    sources[source].move_to(block);
    if (!sources[source].done()) next.push(source);
    if (block.size() < kBlockBytes && !next.empty()) continue;
    TEPHRA_CHECK_OK(write(base::as_bytes(block)));
    block.clear();
  }
  return {};
}

}  // namespace tephra::collect
