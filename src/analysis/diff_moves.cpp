#include "analysis/diff_moves.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "analysis/diff_names.h"

namespace tephra::analysis {
namespace {

constexpr double kLeastScore = 0.6;
constexpr size_t kMostCandidates = 40;  // a side; pairs of them are compared
constexpr size_t kComparedName = 400;   // bytes

using Neighbours = std::map<uint32_t, double>;  // functions and their shares

double ratio(double a, double b) { return std::max(a, b) > 0 ? std::min(a, b) / std::max(a, b) : 0; }

// The common part of two sets of shares: 1 where they are equal, 0 where they have nothing in common.
double likeness(const Neighbours& a, const Neighbours& b) {
  double common = 0;
  double all = 0;
  for (const auto& [function, share] : a) {
    const auto other = b.find(function);
    const double there = other == b.end() ? 0 : other->second;
    common += std::min(share, there);
    all += std::max(share, there);
  }
  for (const auto& [function, share] : b) all += a.contains(function) ? 0 : share;
  return all > 0 ? common / all : 0;
}

void make_shares(Neighbours& of) {
  const double sum =
      std::accumulate(of.begin(), of.end(), 0.0, [](double s, const auto& one) { return s + one.second; });
  for (auto& [function, share] : of) share /= sum > 0 ? sum : 1;
}

double rate(const DiffValue& value, size_t side) { return side == 0 ? value.before : value.after; }

// A function that is on one side only, and its neighbours there.
struct Candidate {
  uint32_t function = 0;
  double rate = 0;
  Neighbours callers;
  Neighbours callees;  // kNone: itself
};

class Renames {
 public:
  Renames(const DiffTree& tree, const DiffTests& tests) : tree_(tree), tests_(tests) {
    for (size_t side = 0; side < kDiffSides; ++side) find_candidates(side);
  }

  // The best pair first; what is taken for the same then counts as the same among the neighbours of the others.
  std::vector<DiffRename> find() {
    std::vector<DiffRename> found;
    while (!candidates_[0].empty() && !candidates_[1].empty()) {
      DiffRename best;
      size_t at[kDiffSides] = {0, 0};
      for (size_t b = 0; b < candidates_[0].size(); ++b) {
        for (size_t a = 0; a < candidates_[1].size(); ++a) {
          const double score = score_of(candidates_[0][b], candidates_[1][a]);
          if (score <= best.score) continue;
          best = {candidates_[0][b].function, candidates_[1][a].function, score};
          at[0] = b;
          at[1] = a;
        }
      }
      if (best.score < kLeastScore) break;
      found.push_back(best);
      candidates_[0].erase(candidates_[0].begin() + static_cast<std::ptrdiff_t>(at[0]));
      candidates_[1].erase(candidates_[1].begin() + static_cast<std::ptrdiff_t>(at[1]));
      for (Candidate& candidate : candidates_[0]) rename(candidate, best.before, best.after);
    }
    return found;
  }

 private:
  void find_candidates(size_t side) {
    std::vector<Candidate>& candidates = candidates_[side];
    for (uint32_t i = 0; i < tree_.functions.size(); ++i) {
      const DiffValue& value = tests_.total[i];
      const bool only_here = rate(value, side) > 0 && rate(value, 1 - side) == 0;
      if (!tree_.functions[i].base && only_here && value.finding) candidates.push_back({i, rate(value, side), {}, {}});
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.rate > b.rate; });
    if (candidates.size() > kMostCandidates) candidates.resize(kMostCandidates);
    std::map<uint32_t, Candidate*> of_function;
    for (Candidate& candidate : candidates) of_function[candidate.function] = &candidate;
    if (candidates.empty()) return;
    for (uint32_t i = 1; i < tree_.nodes.size(); ++i) {
      const DiffNode& node = tree_.nodes[i];
      const double total = rate(tests_.paths[i], side);
      if (const auto callee = of_function.find(node.function); callee != of_function.end()) {
        callee->second->callers[tree_.nodes[node.parent].function] += total;
        callee->second->callees[DiffFunctions::kNone] += total;
      }
      if (const auto caller = of_function.find(tree_.nodes[node.parent].function); caller != of_function.end()) {
        caller->second->callees[node.function] += total;
        caller->second->callees[DiffFunctions::kNone] -= total;
      }
    }
    for (Candidate& candidate : candidates) {
      candidate.callees[DiffFunctions::kNone] = std::max(0.0, candidate.callees[DiffFunctions::kNone]);
      make_shares(candidate.callers);
      make_shares(candidate.callees);
    }
  }

  static void rename(Candidate& candidate, uint32_t from, uint32_t to) {
    for (Neighbours* of : {&candidate.callers, &candidate.callees}) {
      if (const auto at = of->find(from); at != of->end()) {
        (*of)[to] += at->second;
        of->erase(from);
      }
    }
  }

  double score_of(const Candidate& before, const Candidate& after) const {
    const double weights = ratio(before.rate, after.rate);
    if (weights < 0.5) return 0;
    const DiffFunctionName& old_name = tree_.functions[before.function];
    const DiffFunctionName& new_name = tree_.functions[after.function];
    if (old_name.kernel != new_name.kernel) return 0;
    const double score = 0.3 * weights + 0.25 * likeness(before.callers, after.callers) +
                         0.25 * likeness(before.callees, after.callees) +
                         0.2 * name_likeness(std::string_view(old_name.name).substr(0, kComparedName),
                                             std::string_view(new_name.name).substr(0, kComparedName));
    return module_across_builds(old_name.module) == module_across_builds(new_name.module) ? score : 0.9 * score;
  }

  const DiffTree& tree_;
  const DiffTests& tests_;
  std::vector<Candidate> candidates_[kDiffSides];
};

Neighbours callees_of(const DiffTree& tree, const DiffTests& tests, uint32_t node, size_t side) {
  Neighbours callees;
  double self = rate(tests.paths[node], side);
  for (uint32_t child = tree.nodes[node].first_child; child != 0; child = tree.nodes[child].next_sibling) {
    const double total = rate(tests.paths[child], side);
    if (total > 0) callees[tree.nodes[child].function] += total;
    self -= total;
  }
  callees[DiffFunctions::kNone] = std::max(0.0, self);
  make_shares(callees);
  return callees;
}

// A node that is a finding, and of one side only.
bool is_only(const DiffValue& value, size_t side) {
  return value.finding && rate(value, side) > 0 && rate(value, 1 - side) == 0;
}

std::vector<DiffMove> find_moves(const DiffTree& tree, const DiffTests& tests) {
  std::map<uint32_t, std::vector<uint32_t>> gone;
  std::map<uint32_t, std::vector<uint32_t>> fresh;
  for (uint32_t i = 1; i < tree.nodes.size(); ++i) {
    if (tree.functions[tree.nodes[i].function].base) continue;
    if (is_only(tests.paths[i], 0)) gone[tree.nodes[i].function].push_back(i);
    if (is_only(tests.paths[i], 1)) fresh[tree.nodes[i].function].push_back(i);
  }
  const auto caller = [&](uint32_t node) { return tree.nodes[tree.nodes[node].parent].function; };
  std::vector<DiffMove> moves;
  for (auto& [function, from] : gone) {
    auto& to = fresh[function];
    for (std::vector<uint32_t>* nodes : {&from, &to}) {
      if (nodes->size() > kMostCandidates) nodes->resize(kMostCandidates);
    }
    std::map<uint32_t, Neighbours> called;
    for (const uint32_t node : from) called[node] = callees_of(tree, tests, node, 0);
    for (const uint32_t node : to) called[node] = callees_of(tree, tests, node, 1);
    for (const uint32_t old_place : from) {
      DiffMove best;
      for (const uint32_t new_place : to) {
        // Below the same caller it is the caller that moved.
        if (caller(old_place) == caller(new_place)) continue;
        const double score = 0.5 * ratio(tests.paths[old_place].before, tests.paths[new_place].after) +
                             0.5 * likeness(called[old_place], called[new_place]);
        if (score > best.score) best = {old_place, new_place, score};
      }
      if (best.score < kLeastScore) continue;
      std::erase(to, best.to);
      moves.push_back(best);
    }
  }
  std::stable_sort(moves.begin(), moves.end(), [&](const DiffMove& a, const DiffMove& b) {
    return tests.paths[a.from].before > tests.paths[b.from].before;
  });
  return moves;
}

// Whether the total of a caller can be seen not to change. Of shares that of all is always the same, and that of nearly
// all says little.
bool is_unchanged(const DiffTree& tree, const DiffValue& value) {
  constexpr double kNearlyAll = 0.8;
  if (!value.tested || value.finding) return false;
  return tree.by != DiffBy::kShare || (value.before + value.after) / 2 < kNearlyAll;
}

void find_shifts(const DiffTree& tree, const DiffTests& tests, std::vector<uint32_t>& shifted_within) {
  constexpr double kCancels = 0.7;
  constexpr double kNoise = 0.3;
  for (uint32_t parent = 0; parent < tree.nodes.size(); ++parent) {
    if (!is_unchanged(tree, tests.paths[parent])) continue;
    double grown = 0;
    double shrunk = 0;
    std::vector<uint32_t> children;
    for (uint32_t child = tree.nodes[parent].first_child; child != 0; child = tree.nodes[child].next_sibling) {
      const DiffValue& value = tests.paths[child];
      if (!value.finding) continue;
      (value.change() > 0 ? grown : shrunk) += std::fabs(value.change());
      children.push_back(child);
    }
    const double moved = std::max(grown, shrunk);
    if (ratio(grown, shrunk) < kCancels || std::fabs(tests.paths[parent].change()) > kNoise * moved) continue;
    for (const uint32_t child : children) shifted_within[child] = parent;
  }
}

}  // namespace

DiffMoves diff_moves(const DiffTree& tree, const DiffTests& tests) {
  DiffMoves moves;
  moves.renames = Renames(tree, tests).find();
  moves.moves = find_moves(tree, tests);
  moves.shifted_within.resize(tree.nodes.size());
  find_shifts(tree, tests, moves.shifted_within);
  return moves;
}

}  // namespace tephra::analysis
