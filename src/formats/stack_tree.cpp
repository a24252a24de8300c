#include "formats/stack_tree.h"

#include <algorithm>
#include <span>

#include "base/parallel.h"

namespace tephra::formats {
namespace {

using model::FrameId;
using model::StackId;
using Frames = std::span<const FrameId>;

// A sequence, and its first two frames as one number, which mostly decide the order.
struct Entry {
  uint64_t begins = 0;
  uint32_t sequence = 0;
};

class Order {
 public:
  explicit Order(const FrameSequences& sequences) : sequences_(sequences) {
    entries_.reserve(sequences.ends.size());
    for (uint32_t i = 0; i < sequences.ends.size(); ++i) entries_.push_back({beginning(frames(i)), i});
    sort();
  }

  const std::vector<Entry>& entries() const { return entries_; }

  Frames frames(uint32_t sequence) const {
    const uint64_t begin = sequence == 0 ? 0 : sequences_.ends[sequence - 1];
    return Frames(sequences_.frames).subspan(begin, sequences_.ends[sequence] - begin);
  }

 private:
  // Frame 0 is in no stack: shorter sequences come first.
  static uint64_t beginning(Frames frames) {
    const uint64_t first = frames.empty() ? 0 : frames[0].value;
    return first << 32 | (frames.size() < 2 ? 0 : frames[1].value);
  }

  bool before(const Entry& a, const Entry& b) const {
    if (a.begins != b.begins) return a.begins < b.begins;
    const Frames left = frames(a.sequence);
    const Frames right = frames(b.sequence);
    const auto [at, other] = std::ranges::mismatch(left, right);
    if (at != left.end() && other != right.end()) return *at < *other;
    return left.size() != right.size() ? left.size() < right.size() : a.sequence < b.sequence;
  }

  // Parts by several threads, then joined.
  void sort() {
    const auto less = [this](const Entry& a, const Entry& b) { return before(a, b); };
    constexpr size_t kLeast = 4096;
    const size_t parts = entries_.size() < kLeast ? 1 : base::worker_count();
    const auto place = [&](size_t part) {
      return entries_.begin() + static_cast<ptrdiff_t>(entries_.size() * std::min(part, parts) / parts);
    };
    base::parallel_for(parts, [&](size_t part) { std::sort(place(part), place(part + 1), less); });
    for (size_t width = 1; width < parts; width *= 2) {
      for (size_t part = 0; part + width < parts; part += 2 * width) {
        std::inplace_merge(place(part), place(part + width), place(part + 2 * width), less);
      }
    }
  }

  const FrameSequences& sequences_;
  std::vector<Entry> entries_;
};

size_t common_length(Frames a, Frames b) { return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin()); }

// By place in the order: how many frames a sequence shares with the one before.
std::vector<uint32_t> shared_lengths(const Order& order) {
  std::vector<uint32_t> shared;
  shared.reserve(order.entries().size());
  Frames before;
  for (const Entry& entry : order.entries()) {
    const Frames frames = order.frames(entry.sequence);
    shared.push_back(static_cast<uint32_t>(common_length(before, frames)));
    before = frames;
  }
  return shared;
}

}  // namespace

std::vector<StackId> add_stacks(model::Table<model::Stack, StackId>& stacks, const FrameSequences& sequences) {
  const Order order(sequences);
  const std::vector<uint32_t> shared = shared_lengths(order);
  size_t rows = sequences.frames.size() + 1;
  for (const uint32_t length : shared) rows -= length;
  stacks.reserve(rows);
  std::vector<StackId> ids(sequences.ends.size());
  std::vector<StackId> path;  // of the sequence before, outermost first
  for (size_t i = 0; i < shared.size(); ++i) {
    const uint32_t sequence = order.entries()[i].sequence;
    const Frames frames = order.frames(sequence);
    path.resize(shared[i]);
    for (const FrameId frame : frames.subspan(shared[i])) {
      path.push_back(stacks.add({path.empty() ? StackId{} : path.back(), frame}));
    }
    ids[sequence] = path.empty() ? StackId{} : path.back();
  }
  return ids;
}

}  // namespace tephra::formats
