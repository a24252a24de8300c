#include "stream/jit_pieces.h"

#include <algorithm>
#include <tuple>

namespace tephra::stream {

void JitPieceIndex::seal() {
  std::sort(pieces_.begin(), pieces_.end(), [](const JitPiece& a, const JitPiece& b) {
    return std::tie(a.start, a.from, a.end) < std::tie(b.start, b.from, b.end);
  });
  bounds_.assign(pieces_.size(), {});
  bound(0, pieces_.size());
}

JitPieceIndex::Bounds JitPieceIndex::bound(size_t low, size_t high) {
  if (low >= high) return {};
  const size_t middle = low + (high - low) / 2;
  const JitPiece& piece = pieces_[middle];
  Bounds all{piece.end, piece.from, piece.until};
  for (const Bounds& part : {bound(low, middle), bound(middle + 1, high)}) {
    all = {std::max(all.end, part.end), std::min(all.from, part.from), std::max(all.until, part.until)};
  }
  return bounds_[middle] = all;
}

const JitPiece* JitPieceIndex::find(size_t low, size_t high, uint64_t address, uint64_t moment) const {
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const Bounds& bounds = bounds_[middle];
    if (address >= bounds.end || moment < bounds.from || moment >= bounds.until) return nullptr;
    const JitPiece& piece = pieces_[middle];
    if (piece.start > address) {
      high = middle;
      continue;
    }
    if (address < piece.end && piece.from <= moment && moment < piece.until) return &piece;
    if (const JitPiece* found = find(middle + 1, high, address, moment)) return found;
    high = middle;
  }
  return nullptr;
}

const JitPiece* JitPieceIndex::find(uint64_t address, uint64_t moment) const {
  return find(0, pieces_.size(), address, moment);
}

void JitLayer::unload(uint64_t start, uint64_t moment) {
  const auto at = living_.find(start);
  if (at == living_.end()) return;
  const uint64_t end = at->second.end;
  clear(start, end, moment, [](const JitPiece&) {});
}

const JitPiece* JitLayer::living(uint64_t address) const {
  auto at = living_.upper_bound(address);
  if (at == living_.begin()) return nullptr;
  --at;
  return address < at->second.end ? &at->second : nullptr;
}

void JitLayer::seal() {
  for (const auto& [start, piece] : living_) pieces_.add(piece);
  living_.clear();
  pieces_.seal();
  doubts_.seal();
}

}  // namespace tephra::stream
