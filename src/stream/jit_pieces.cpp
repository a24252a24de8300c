#include "stream/jit_pieces.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tephra::stream {

// The tree is that of the usual array: node 1 is the root, 2i and 2i + 1 are below node i, the leaves come last.
size_t JitPieceIndex::leaf(uint64_t address) const {
  const auto above = std::upper_bound(edges_.begin(), edges_.end(), address);
  if (above == edges_.begin() || above == edges_.end()) return 0;
  return static_cast<size_t>(above - edges_.begin()) - 1 + edges_.size();
}

template <class Visit>
void JitPieceIndex::for_each_node(const JitPiece& piece, Visit visit) const {
  const auto place = [this](uint64_t edge) {
    return static_cast<size_t>(std::lower_bound(edges_.begin(), edges_.end(), edge) - edges_.begin()) + edges_.size();
  };
  for (size_t low = place(piece.start), high = place(piece.end); low < high; low /= 2, high /= 2) {
    if (low % 2 == 1) visit(low++);
    if (high % 2 == 1) visit(--high);
  }
}

void JitPieceIndex::seal() {
  std::sort(pieces_.begin(), pieces_.end(), [](const JitPiece& a, const JitPiece& b) {
    return std::tie(a.from, a.start, a.end) < std::tie(b.from, b.start, b.end);
  });
  edges_.reserve(2 * pieces_.size());
  for (const JitPiece& piece : pieces_) edges_.insert(edges_.end(), {piece.start, piece.end});
  std::sort(edges_.begin(), edges_.end());
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  // How long each list is, then where each begins, then the lists.
  first_.assign(2 * edges_.size() + 2, 0);
  for (const JitPiece& piece : pieces_) for_each_node(piece, [&](size_t node) { ++first_[node + 1]; });
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  latest_.resize(first_.back());
  std::vector<uint32_t> filled = first_;
  for (uint32_t i = 0; i < pieces_.size(); ++i) {
    for_each_node(pieces_[i], [&](size_t node) {
      const uint32_t at = filled[node]++;
      const bool earlier_lasts = at > first_[node] && pieces_[latest_[at - 1]].until > pieces_[i].until;
      latest_[at] = earlier_lasts ? latest_[at - 1] : i;
    });
  }
}

const JitPiece* JitPieceIndex::find(uint64_t address, uint64_t moment) const {
  for (size_t node = leaf(address); node > 0; node /= 2) {
    const auto begin = latest_.begin() + first_[node];
    const auto end = latest_.begin() + first_[node + 1];
    const auto after = std::upper_bound(begin, end, moment,
                                        [this](uint64_t when, uint32_t piece) { return when < pieces_[piece].from; });
    if (after != begin && moment < pieces_[*std::prev(after)].until) return &pieces_[*std::prev(after)];
  }
  return nullptr;
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
