#include "stream/counter_reads.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "base/hash.h"

namespace tephra::stream {
namespace {

// Whose value it is: a counter that threads inherit has one value a thread under one id.
struct Counter {
  uint64_t id = 0;
  int32_t tid = 0;
  bool operator==(const Counter&) const = default;
};
struct CounterHash {
  size_t operator()(const Counter& counter) const { return base::mix(counter.id, static_cast<uint32_t>(counter.tid)); }
};

bool reads(const EventLayout& layout) {
  return (layout.sample_type & PERF_SAMPLE_READ) != 0 && (layout.read_format & PERF_FORMAT_ID) != 0;
}

}  // namespace

bool CounterReads::has(const Recording& recording) {
  return std::any_of(recording.events.begin(), recording.events.end(),
                     [](const RecordedEvent& event) { return reads(event.layout); });
}

void CounterReads::note(const Decoder& decoder, const Recording& recording, const Record& record, uint64_t position) {
  Sample sample;
  if (!decoder.decode_sample(record, sample) || sample.read.size() == 0) return;
  run_on_ = recording.recorder && recording.recorder->counters_run_on.value_or(0) != 0;
  const EventLayout& layout = recording.events[sample.origin.event].layout;
  const int32_t tid = layout.inherit && layout.sample_type & PERF_SAMPLE_TID ? sample.origin.tid : 0;
  noted_.push_back({decoder.has_time() ? sample.origin.time : position, position, values_.size(), sample.read.size()});
  for (size_t i = 0; i < sample.read.size(); ++i) values_.push_back({sample.read.id(i), sample.read.value(i), tid});
}

void CounterReads::finish(const Decoder& decoder) {
  std::vector<size_t> order(noted_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [this](size_t a, size_t b) { return noted_[a].moment < noted_[b].moment; });
  std::unordered_map<Counter, uint64_t, CounterHash> last;
  parts_.reserve(values_.size());
  for (const size_t index : order) {
    Noted& noted = noted_[index];
    const size_t begin = parts_.size();
    for (size_t i = noted.first; i < noted.first + noted.count; ++i) {
      const Value& now = values_[i];
      const auto event = decoder.event_with_id(now.id);
      unknown_ += !event;
      if (!event) continue;
      const auto found = last.try_emplace({now.id, now.tid}, run_on_ ? now.value : 0).first;
      uint64_t& before = found->second;
      // Counters do not go back; where a damaged file says so, nothing is known of what was counted.
      if (now.value > before) parts_.push_back({*event, now.value - before});
      before = now.value;
    }
    noted.first = begin;
    noted.count = parts_.size() - begin;
  }
  values_ = {};
}

std::span<const CounterReads::Part> CounterReads::of(uint64_t position) const {
  const auto found = std::lower_bound(noted_.begin(), noted_.end(), position,
                                      [](const Noted& noted, uint64_t wanted) { return noted.position < wanted; });
  if (found == noted_.end() || found->position != position) return {};
  return std::span(parts_).subspan(found->first, found->count);
}

}  // namespace tephra::stream
