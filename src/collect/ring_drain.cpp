#include "collect/ring_drain.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <chrono>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "stream/records.h"

namespace tephra::collect {
namespace {

// Rings are written together in one call until this much is waiting; then the kernel gets its space back.
constexpr size_t kBatchBytes = 1 << 20;
constexpr std::chrono::milliseconds kLate{200};
// The kernel wakes us at a quarter. At this much the next delay may cost records.
constexpr double kNearlyFull = 0.7;
// A writer that was in the kernel's code when a ring was exchanged may still finish its record.
constexpr int kEmptyPasses = 3;

// Samples among the whole records that begin at `offset` of the parts together.
uint64_t samples_behind(const std::vector<iovec>& parts, size_t offset) {
  std::string bytes;
  for (const iovec& part : parts) bytes.append(static_cast<const char*>(part.iov_base), part.iov_len);
  uint64_t samples = 0;
  stream::RecordWalker walker(base::as_bytes(bytes).subspan(offset));
  for (stream::Record record; walker.next(record);) samples += record.type == PERF_RECORD_SAMPLE;
  return samples;
}

bool holds_sample(const kernel::Pending& pending) {
  for (size_t offset = 0, size = 0; (size = pending.record_size(offset)) > 0; offset += size) {
    if (static_cast<uint32_t>(pending.word(offset)) == PERF_RECORD_SAMPLE) return true;
  }
  return false;
}

}  // namespace

RingDrain::RingDrain(EventSet& events, RecordingOutput& output, bool may_grow, Note note)
    : events_(events), output_(output), may_grow_(may_grow), note_(std::move(note)) {}

base::Status RingDrain::pass() {
  TEPHRA_CHECK_OK(take_all());
  drop_empty_retired();
  TEPHRA_CHECK_OK(grow_full_rings());
  warn_of_losses();
  return output_.end_round();
}

base::Status RingDrain::last_pass() {
  TEPHRA_CHECK_OK(take_all());
  warn_of_losses();
  return output_.end_round();
}

bool RingDrain::sample_waits() {
  // These become part of the next batch.
  if (engine_ != nullptr) engine_->take(made_);
  if (!made_.empty()) return true;
  RingSet& rings = events_.rings();
  for (const RingSet::Retired& old : rings.retired()) {
    if (holds_sample(old.ring.pending())) return true;
  }
  for (size_t place = 0; place < rings.cpus().size(); ++place) {
    if (holds_sample(rings.ring(place).pending())) return true;
  }
  return false;
}

base::Status RingDrain::take_all() {
  RingSet& rings = events_.rings();
  for (RingSet::Retired& old : rings.retired()) {
    if (old.ring.pending().size() == 0)
      ++old.empty_passes;
    else
      TEPHRA_CHECK_OK(take(old.ring));
  }
  for (size_t place = 0; place < rings.cpus().size(); ++place) {
    kernel::RingBuffer& ring = rings.ring(place);
    const auto waiting = static_cast<double>(ring.pending().size());
    if (waiting > kNearlyFull * static_cast<double>(ring.capacity())) nearly_full_.push_back(place);
    TEPHRA_CHECK_OK(take(ring));
  }
  if (keeper_ != nullptr) keeper_->end_round();
  take_made();
  return flush();
}

void RingDrain::take_made() {
  if (engine_ != nullptr) engine_->take(made_);
  for (Collector* collector : collectors_) collector->take(made_);
  if (made_.empty()) return;
  scan_records({{base::as_bytes(made_), base::Bytes()}, made_.size()}, counts_, files_);
  batch_.push_back({made_.data(), made_.size()});
  batch_bytes_ += made_.size();
}

base::Status RingDrain::take(kernel::RingBuffer& ring) {
  const kernel::Pending pending = ring.pending();
  if (pending.size() == 0) return {};
  scan_records(pending, counts_, files_);
  if (keeper_ != nullptr) keeper_->take(pending);
  if (engine_ != nullptr) engine_->heard(pending);
  if (copies_ != nullptr) copies_->heard(pending);
  for (const base::Bytes part : pending.parts) {
    if (!part.empty()) batch_.push_back({const_cast<std::byte*>(part.data()), part.size()});
  }
  batch_rings_.emplace_back(&ring, pending.head);
  batch_bytes_ += pending.size();
  return batch_bytes_ >= kBatchBytes ? flush() : base::Status();
}

base::Status RingDrain::flush() {
  if (batch_.empty()) return {};
  const std::vector<iovec> parts = batch_;  // append_rings uses up its own
  const auto begun = std::chrono::steady_clock::now();
  auto taken = output_.append_rings(batch_);
  late_writes_ += std::chrono::steady_clock::now() - begun > kLate;
  if (taken && *taken < batch_bytes_) {
    const uint64_t left_out = samples_behind(parts, *taken);
    counts_.samples -= left_out;
    beyond_limit_ += left_out;
  }
  for (const auto& [ring, head] : batch_rings_) ring->release(head);
  batch_.clear();
  batch_rings_.clear();
  made_.clear();
  batch_bytes_ = 0;
  if (!taken) return std::move(taken).error();
  return {};
}

void RingDrain::drop_empty_retired() {
  std::erase_if(events_.rings().retired(), [](const auto& old) { return old.empty_passes >= kEmptyPasses; });
}

base::Status RingDrain::grow_full_rings() {
  const std::vector<size_t> places = std::exchange(nearly_full_, {});
  base::Status drained;
  const auto meanwhile = [&] {
    if (drained) drained = take_all();
  };
  for (const size_t place : places) {
    if (may_grow_ && events_.grow_ring(place, meanwhile)) {
      ++rings_grown_;
    } else if (!warned_full_) {
      warned_full_ = true;
      note_(fmt::format("the rings of {} KiB fill up, records may be lost: {}",
                        events_.rings().ring(place).capacity() >> 10,
                        may_grow_ ? "they cannot grow (too many threads share them, or no more memory may be locked). "
                                    "Use -m 16M, or sample less often (-F)."
                                  : "use a larger -m, or leave it out so that they grow."));
    }
  }
  // What was nearly full meanwhile is larger by now, or is seen again in the next pass.
  nearly_full_.clear();
  return drained;
}

void RingDrain::warn_of_losses() {
  if (counts_.lost == 0 || warned_lost_) return;
  warned_lost_ = true;
  note_(fmt::format("records are being lost ({} so far): the rings are too small for this rate", counts_.lost));
}

}  // namespace tephra::collect
