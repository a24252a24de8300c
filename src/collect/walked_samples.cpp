#include "collect/walked_samples.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <vector>

#include "base/bytes.h"
#include "collect/event_attr.h"
#include "stream/records.h"

namespace tephra::collect {
namespace {

// What is dropped at once.
constexpr size_t kBlockBytes = 64 << 10;

struct Timed {
  uint64_t time = 0;
  base::Bytes record;
};

// A record without a time goes with the one before it.
std::vector<Timed> records_of(const std::string& text, uint64_t time) {
  std::vector<Timed> found;
  stream::RecordWalker walker(base::as_bytes(text));
  for (stream::Record record; walker.next(record);) {
    const bool has_time = record.type == PERF_RECORD_SAMPLE && record.bytes.size() >= kSampleTimeOffset + 8;
    if (has_time) time = base::load<uint64_t>(record.bytes.data() + kSampleTimeOffset);
    found.push_back({time, record.bytes});
  }
  return found;
}

}  // namespace

void WalkedSamples::add(std::string records, uint64_t most_bytes) {
  if (records.empty()) return;
  bytes_ += records.size();
  if (!blocks_.empty() && blocks_.back().size() + records.size() <= kBlockBytes)
    blocks_.back() += records;
  else
    blocks_.push_back(std::move(records));
  while (bytes_ > most_bytes && blocks_.size() > 1) {
    bytes_ -= blocks_.front().size();
    blocks_.pop_front();
  }
}

std::string WalkedSamples::merged_with(const std::string& records, uint64_t not_before) const {
  std::vector<Timed> all = records_of(records, not_before);
  for (const std::string& block : blocks_) {
    for (const Timed& each : records_of(block, 0)) {
      if (each.time >= not_before) all.push_back(each);
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Timed& a, const Timed& b) { return a.time < b.time; });
  std::string merged;
  for (const Timed& each : all) merged += base::as_text(each.record);
  return merged;
}

}  // namespace tephra::collect
