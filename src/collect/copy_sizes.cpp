#include "collect/copy_sizes.h"

#include <algorithm>
#include <cmath>

#include "collect/event_attr.h"

namespace tephra::collect {
namespace {

// Below this a decision would be one by chance.
constexpr uint64_t kLeastSamples = 100;
constexpr double kLeastSeconds = 0.25;
// A program begins with shallow stacks: it must have gone on like that for a while.
constexpr uint64_t kLeastSamplesToShrink = 1000;
constexpr double kLeastSecondsToShrink = 5;

constexpr double kMostCut = 0.01;
constexpr double kCovered = 0.99;
constexpr double kAlmostAll = 0.999;
constexpr uint32_t kFarTooLarge = 4;
constexpr uint32_t kLeastBytes = 4096;
// Each change opens every event anew: less than this much more is not worth it.
constexpr double kLeastGrowth = 1.25;
constexpr int kMostChanges = 4;
// A ring must hold what comes in this time, since the recorder does not run at once: as with the usual rate and size in
// the smallest ring that users may have.
constexpr double kRingSeconds = 1.0 / 64;

uint32_t rounded(uint64_t bytes, uint32_t step) {
  const uint64_t up = (bytes + step - 1) / step * step;
  return static_cast<uint32_t>(std::clamp<uint64_t>(up, kLeastBytes, kMaxStackBytes));
}

}  // namespace

CopySizes::CopySizes(uint32_t first) : bytes_(first), used_{{first, 0, 0}} {}

void CopySizes::Needs::add(uint64_t bytes, bool was_cut) {
  ++by_size[std::min<uint64_t>((bytes + kStep - 1) / kStep, kBuckets - 1)];
  ++samples;
  cut += was_cut;
}

uint32_t CopySizes::Needs::covering(double share) const {
  const auto enough = static_cast<uint64_t>(std::ceil(share * static_cast<double>(samples)));
  uint64_t below = 0;
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    below += by_size[bucket];
    if (below >= enough) return static_cast<uint32_t>(bucket) * kStep;
  }
  return kBuckets * kStep;
}

// A record has no room for the very largest size beside its other fields, so its copy may be smaller than asked for.
model::CopySize& CopySizes::size_of(uint64_t room) {
  model::CopySize* best = nullptr;
  for (model::CopySize& size : used_) {
    if (size.bytes >= room && (best == nullptr || size.bytes < best->bytes)) best = &size;
  }
  return best == nullptr ? used_.back() : *best;
}

void CopySizes::saw(const StackCopy& copy) {
  if (copy.room == 0) return;
  // A copy that is not full ends where memory ends, or cannot be read: more room would not help it.
  const bool full = copy.filled >= copy.room;
  const bool cut = full && copy.needed.value_or(copy.filled + 1) > copy.filled;
  model::CopySize& size = size_of(copy.room);
  ++size.samples;
  size.cut += cut;
  if (size.bytes != bytes_) return;  // was on its way when the size was changed
  // How deep a stack of unknown end is that fills the copy cannot be told; twice that is tried next.
  const uint64_t need =
      full ? copy.needed.value_or(2 * copy.filled) : std::min(copy.filled, copy.needed.value_or(copy.filled));
  recent_.add(need, cut);
  all_.add(need, cut);
}

std::optional<CopySizes::Decision> CopySizes::decide(double now, const Limits& limits) {
  // Time without samples says nothing about their rate.
  if (!recent_begun_ || recent_.samples == 0) recent_begun_ = now;
  const double seconds = now - *recent_begun_;
  if (settled_ || recent_.samples < kLeastSamples || seconds < kLeastSeconds) return {};
  seconds_ += seconds;
  const double rate = static_cast<double>(recent_.samples) / seconds;
  auto decision = grow(rate, limits);
  if (!decision) decision = shrink(rate);
  recent_ = {};
  recent_begun_ = now;
  return decision;
}

uint32_t CopySizes::affordable(double rate, const Limits& limits) const {
  const double by_rate = static_cast<double>(limits.bytes_a_second) / rate;
  const double on_one_cpu = std::min(rate, static_cast<double>(limits.rate));
  const double by_ring = static_cast<double>(limits.ring_bytes) / (kRingSeconds * on_one_cpu);
  return static_cast<uint32_t>(std::min({by_rate, by_ring, double{kMaxStackBytes}})) / 8 * 8;
}

std::optional<CopySizes::Decision> CopySizes::grow(double rate, const Limits& limits) {
  const double cut = static_cast<double>(recent_.cut) / static_cast<double>(recent_.samples);
  if (cut <= kMostCut || bytes_ >= kMaxStackBytes) return {};
  may_shrink_ = false;
  // Some more, since what was seen is not the deepest there will be.
  const uint32_t need = recent_.covering(kCovered);
  const auto least = static_cast<uint32_t>(kLeastGrowth * bytes_);
  const uint32_t wanted = rounded(std::max(need + need / 8, least), kStep);
  const uint32_t bytes = std::min(wanted, affordable(rate, limits));
  const bool worth = bytes >= least || bytes == kMaxStackBytes;
  return Decision{worth ? bytes : bytes_, wanted, cut, recent_.samples, rate};
}

std::optional<CopySizes::Decision> CopySizes::shrink(double rate) {
  if (!may_shrink_ || all_.samples < kLeastSamplesToShrink || seconds_ < kLeastSecondsToShrink) return {};
  const uint32_t need = std::max(kStep, all_.covering(kAlmostAll));
  const uint32_t bytes = rounded(2 * need, kStep);
  if (kFarTooLarge * need > bytes_ || 2 * bytes > bytes_) return {};
  return Decision{bytes, bytes, 0, all_.samples, rate};
}

void CopySizes::changed(uint32_t bytes) {
  if (bytes < bytes_) may_shrink_ = false;
  bytes_ = bytes;
  recent_ = {};
  all_ = {};
  recent_begun_.reset();
  seconds_ = 0;
  if (++changes_ >= kMostChanges) settled_ = true;
  const auto known = std::find_if(used_.begin(), used_.end(), [&](const auto& size) { return size.bytes == bytes; });
  if (known == used_.end()) used_.push_back({bytes, 0, 0});
}

}  // namespace tephra::collect
