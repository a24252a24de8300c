#include "stream/lost_spans.h"

#include <linux/perf_event.h>

#include <algorithm>

#include "stream/decoder.h"
#include "stream/records.h"

namespace tephra::stream {
namespace {

// Follows the records of a stream and notes when the last one of each CPU was made.
class LossFinder {
 public:
  LossFinder(const Decoder& decoder, LostSpans& spans) : decoder_(decoder), spans_(spans) {}

  void take(const Record& record) {
    if (record.type == PERF_RECORD_SAMPLE) {
      if (decoder_.decode_sample(record, sample_) && sample_.origin.cpu >= 0) {
        last_[sample_.origin.cpu] = sample_.origin.time;
      }
      return;
    }
    if (record.type != PERF_RECORD_LOST && record.type != PERF_RECORD_LOST_SAMPLES) return;
    const Event event = decoder_.decode(record);
    if (const Lost* lost = std::get_if<Lost>(&event)) take(*lost);
  }

  // Losses that only LOST_SAMPLES records told; where there are others these are the same once more.
  void finish() {
    if (!spans_.any() && told_at_the_end_ > 0) spans_.add(-1, 0, UINT64_MAX, told_at_the_end_);
  }

 private:
  void take(const Lost& lost) {
    if (lost.samples_record) {
      told_at_the_end_ += lost.count;
      return;
    }
    if (lost.origin.time == 0) return take_last(lost.count);
    const auto last = last_.find(lost.origin.cpu);
    const uint64_t from = last == last_.end() ? 0 : last->second;
    spans_.add(lost.origin.cpu, from, std::max(lost.origin.time, from), lost.count);
  }

  // Recorders add such a record at the end, for losses that nothing came after in some ring.
  void take_last(uint64_t count) {
    uint64_t from = last_.empty() ? 0 : UINT64_MAX;
    for (const auto& [cpu, time] : last_) from = std::min(from, time);
    spans_.add(-1, from, UINT64_MAX, count);
  }

  const Decoder& decoder_;
  LostSpans& spans_;
  Sample sample_;
  std::unordered_map<int32_t, uint64_t, base::NumberHash> last_;
  uint64_t told_at_the_end_ = 0;
};

}  // namespace

LostSpans LostSpans::of(const Recording& recording) {
  LostSpans spans;
  const Decoder decoder(recording);
  LossFinder finder(decoder, spans);
  for (const base::Bytes part : recording.records) {
    RecordWalker walker(part);
    Record record;
    while (walker.next(record)) finder.take(record);
  }
  finder.finish();
  spans.finish();
  return spans;
}

void LostSpans::add(int32_t cpu, uint64_t from, uint64_t to, uint64_t records) {
  count_ += records;
  if (records == 0) return;
  if (cpu < 0) {
    anywhere_.emplace_back(from, to);
  } else {
    by_cpu_[cpu].emplace_back(from, to);
  }
  all_.emplace_back(from, to);
}

void LostSpans::finish() {
  join(all_);
  join(anywhere_);
  for (auto& [cpu, spans] : by_cpu_) join(spans);
}

void LostSpans::join(Spans& spans) {
  std::sort(spans.begin(), spans.end());
  size_t kept = 0;
  for (const auto& span : spans) {
    if (kept > 0 && span.first <= spans[kept - 1].second) {
      spans[kept - 1].second = std::max(spans[kept - 1].second, span.second);
    } else {
      spans[kept++] = span;
    }
  }
  spans.resize(kept);
}

bool LostSpans::touch(const Spans& spans, uint64_t from, uint64_t to) {
  // The first span that ends after `from`: what was lost up to that very moment does not matter.
  const auto found = std::upper_bound(spans.begin(), spans.end(), from,
                                      [](uint64_t time, const auto& span) { return time < span.second; });
  return found != spans.end() && found->first < to;
}

bool LostSpans::touch(int32_t cpu, uint64_t from, uint64_t to) const {
  if (all_.empty()) return false;
  if (touch(anywhere_, from, to)) return true;
  const auto found = by_cpu_.find(cpu);
  return found != by_cpu_.end() && touch(found->second, from, to);
}

bool LostSpans::touch(uint64_t from, uint64_t to) const { return touch(all_, from, to); }

}  // namespace tephra::stream
