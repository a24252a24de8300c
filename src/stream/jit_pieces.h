#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace tephra::stream {

// A range of addresses that one function had for one span of time.
struct JitPiece {
  uint64_t start = 0;
  uint64_t end = 0;   // exclusive
  uint64_t from = 0;  // of the time
  uint64_t until = UINT64_MAX;
  uint64_t base = 0;  // where the function began
  uint32_t function = 0;
};

// Finds a piece that holds an address at a moment, among pieces that are rectangles of both; where several do, one of
// them. Adding costs no more than appending. seal() makes a tree over the addresses, in which a piece is known to at most
// two nodes of each level, and in a node the pieces are in the order of time: with n pieces finding takes log² n steps
// and the tree n log n words, whatever the pieces are.
class JitPieceIndex {
 public:
  void add(const JitPiece& piece) { pieces_.push_back(piece); }
  void seal();
  const JitPiece* find(uint64_t address, uint64_t moment) const;
  size_t size() const { return pieces_.size(); }

 private:
  // Calls visit(node) for the nodes that together are the addresses of `piece`.
  template <class Visit>
  void for_each_node(const JitPiece& piece, Visit visit) const;
  // The range of addresses between two of `edges_` that holds `address`, as a leaf of the tree; 0: none does.
  size_t leaf(uint64_t address) const;

  std::vector<JitPiece> pieces_;  // sorted by the time they begin
  std::vector<uint64_t> edges_;   // where pieces begin and end, sorted
  // Of node i the list is [first_[i], first_[i + 1]) of `latest_`: at each place that of the pieces up to there which
  // ends last.
  std::vector<uint32_t> first_;
  std::vector<uint32_t> latest_;
};

// The functions of one process as one source tells them, in the order of time: a new one ends those whose addresses it
// takes.
class JitLayer {
 public:
  // `function` came to be at [start, end) after `earliest` and before `latest`. `same(a, b)`: whether it
  // does not matter which of two functions it was. Returns whether anything has changed.
  template <class Same>
  bool load(uint64_t start, uint64_t end, uint32_t function, uint64_t earliest, uint64_t latest, Same same);
  // What began at `start` is there no more.
  void unload(uint64_t start, uint64_t moment);
  // The function that lives at `address` by now, or null.
  const JitPiece* living(uint64_t address) const;

  void seal();
  const JitPiece* find(uint64_t address, uint64_t moment) const { return pieces_.find(address, moment); }
  // Whether it is not known which of two functions was at the address.
  bool doubtful(uint64_t address, uint64_t moment) const { return doubts_.find(address, moment) != nullptr; }

 private:
  // Takes what lives in [start, end) out of the living and ends it at `moment`; visits each.
  template <class Visit>
  void clear(uint64_t start, uint64_t end, uint64_t moment, Visit visit);

  std::map<uint64_t, JitPiece> living_;  // by start; disjoint
  JitPieceIndex pieces_;
  JitPieceIndex doubts_;
};

template <class Visit>
void JitLayer::clear(uint64_t start, uint64_t end, uint64_t moment, Visit visit) {
  auto at = living_.lower_bound(start);
  if (at != living_.begin() && std::prev(at)->second.end > start) --at;
  while (at != living_.end() && at->second.start < end) {
    const JitPiece whole = at->second;
    at = living_.erase(at);
    JitPiece ended = whole;
    ended.until = moment;
    if (whole.start < start) {
      JitPiece left = whole;
      left.end = start;
      ended.start = start;
      living_.emplace(left.start, left);
    }
    if (whole.end > end) {
      JitPiece right = whole;
      right.start = end;
      ended.end = end;
      at = living_.emplace(right.start, right).first;
    }
    if (ended.from < ended.until) pieces_.add(ended);
    visit(ended);
  }
}

template <class Same>
bool JitLayer::load(uint64_t start, uint64_t end, uint32_t function, uint64_t earliest, uint64_t latest, Same same) {
  if (const auto known = living_.find(start); known != living_.end() && known->second.end == end &&
                                              known->second.base == start && same(known->second.function, function)) {
    return false;
  }
  clear(start, end, earliest, [&](const JitPiece& ended) {
    if (earliest < latest && !same(ended.function, function)) {
      doubts_.add({ended.start, ended.end, earliest, latest, 0, 0});
    }
  });
  living_.emplace(start, JitPiece{start, end, earliest, UINT64_MAX, start, function});
  return true;
}

}  // namespace tephra::stream
