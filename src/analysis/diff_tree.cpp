#include "analysis/diff_tree.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace tephra::analysis {
namespace {

// Means of fewer parts are too uncertain, means of more see too little of what goes on for longer than a part.
constexpr double kShortestPart = 1e9;
constexpr double kMostParts = 20;
constexpr double kNanoseconds = 1e9;

// Nodes by parent and function.
class Grower {
 public:
  explicit Grower(std::vector<DiffNode>& nodes) : nodes_(nodes) {
    nodes_.push_back({.function = DiffFunctions::kNone});
  }

  uint32_t child(uint32_t parent, uint32_t function) {
    const uint64_t key = uint64_t{parent} << 32 | function;
    const auto [at, fresh] = children_.try_emplace(key, static_cast<uint32_t>(nodes_.size()));
    if (fresh) {
      nodes_.push_back({.parent = parent, .function = function, .depth = nodes_[parent].depth + 1});
    }
    return at->second;
  }

 private:
  std::vector<DiffNode>& nodes_;
  std::unordered_map<uint64_t, uint32_t> children_;
};

// Links children to parents, siblings in the order of their functions' names.
void link_children(DiffTree& tree) {
  std::vector<uint32_t> rank(tree.functions.size());
  std::vector<uint32_t> by_name(tree.functions.size());
  std::iota(by_name.begin(), by_name.end(), 0u);
  std::sort(by_name.begin(), by_name.end(), [&](uint32_t a, uint32_t b) {
    return std::tie(tree.functions[a].name, a) < std::tie(tree.functions[b].name, b);
  });
  for (uint32_t i = 0; i < by_name.size(); ++i) rank[by_name[i]] = i;
  std::vector<uint32_t> order(tree.nodes.size() - 1);
  std::iota(order.begin(), order.end(), 1u);
  // From the last to the first, so that each becomes the first child of its parent.
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return rank[tree.nodes[a].function] > rank[tree.nodes[b].function]; });
  for (const uint32_t i : order) {
    tree.nodes[i].next_sibling = std::exchange(tree.nodes[tree.nodes[i].parent].first_child, i);
  }
}

// Finds the calls that are not below one of the same function.
void mark_outermost(DiffTree& tree) {
  std::vector<uint32_t> open_calls(tree.functions.size());
  uint32_t at = tree.nodes[0].first_child;
  while (at != 0) {
    DiffNode& node = tree.nodes[at];
    node.outermost = open_calls[node.function]++ == 0;
    if (node.first_child != 0) {
      at = node.first_child;
      continue;
    }
    while (at != 0) {
      --open_calls[tree.nodes[at].function];
      if (tree.nodes[at].next_sibling != 0) break;
      at = tree.nodes[at].parent;
    }
    at = tree.nodes[at].next_sibling;
  }
}

// The node of every sample of a profile. Samples are taken by the base of their stacks, so that each row of the stack
// table is looked up once a base.
class Placer {
 public:
  Placer(const model::Profile& profile, const DiffFunctions& functions, size_t number, bool threads, Grower& grower)
      : profile_(profile), functions_(functions), number_(number), threads_(threads), grower_(grower) {}

  std::vector<uint32_t> place() {
    const model::Samples& samples = profile_.samples;
    std::vector<uint32_t> order(samples.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto base_of = [&](uint32_t i) { return base(samples.thread[i]); };
    if (threads_) {
      std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return base_of(a) < base_of(b); });
    }
    std::vector<uint32_t> nodes(samples.size());
    node_of_.assign(profile_.stacks.size(), kUnset);
    for (size_t i = 0; i < order.size(); ++i) {
      const uint32_t sample = order[i];
      if (i == 0 || base_of(sample) != base_of(order[i - 1])) start(base_of(sample));
      nodes[sample] = node(samples.stack[sample]);
    }
    return nodes;
  }

 private:
  static constexpr uint32_t kUnset = UINT32_MAX;

  uint32_t base(model::ThreadId thread) const {
    return threads_ ? functions_.of_thread(number_, thread) : DiffFunctions::kNone;
  }

  void start(uint32_t base) {
    for (const model::StackId stack : touched_) node_of_[stack.value] = kUnset;
    touched_.clear();
    set({}, base == DiffFunctions::kNone ? 0 : grower_.child(0, base));
  }

  uint32_t node(model::StackId stack) {
    while (node_of_[stack.value] == kUnset) {
      path_.push_back(stack);
      stack = profile_.stacks[stack].parent;
    }
    uint32_t at = node_of_[stack.value];
    for (; !path_.empty(); path_.pop_back()) {
      at = grower_.child(at, functions_.of_frame(number_, profile_.stacks[path_.back()].frame));
      set(path_.back(), at);
    }
    return at;
  }

  void set(model::StackId stack, uint32_t node) {
    node_of_[stack.value] = node;
    touched_.push_back(stack);
  }

  const model::Profile& profile_;
  const DiffFunctions& functions_;
  const size_t number_;
  const bool threads_;
  Grower& grower_;
  std::vector<uint32_t> node_of_;
  std::vector<model::StackId> touched_;
  std::vector<model::StackId> path_;
};

void add(model::Totals& to, const model::Totals& weight) {
  to.count += weight.count;
  to.value += weight.value;
}

// How long a profile was recorded, 0 where nobody knows.
double seconds_of(const model::Profile& profile) {
  const model::RecordingFacts& facts = profile.facts;
  if (facts.last_time > facts.first_time) return static_cast<double>(facts.last_time - facts.first_time) / kNanoseconds;
  return static_cast<double>(std::max<int64_t>(0, facts.duration_ns)) / kNanoseconds;
}

// Where the samples of the profile belong in time: parts of equal length.
struct Parts {
  size_t count = 1;
  uint64_t begin = 0;
  double length = 0;

  Parts() = default;
  // Times may be those of steps in which samples are: the profile knows when the first and the last was taken.
  explicit Parts(const model::Profile& profile) {
    const model::Samples& samples = profile.samples;
    if (samples.time.empty()) return;
    const auto [first, last] = std::minmax_element(samples.time.begin(), samples.time.end());
    begin = *first;
    const double whole = static_cast<double>(std::max(*last, profile.facts.last_time) - *first) + 1;
    const double wanted = std::max(kShortestPart, whole / kMostParts);
    count = std::max<size_t>(1, static_cast<size_t>(whole / wanted));
    length = whole / static_cast<double>(count);
  }

  size_t of(const model::Samples& samples, size_t sample) const {
    if (count == 1) return 0;
    return std::min(count - 1, static_cast<size_t>(static_cast<double>(samples.time[sample] - begin) / length));
  }
};

// What is counted in one unit after the other, of several things.
class UnitSums {
 public:
  explicit UnitSums(size_t things) : now_(things), rate_before_(things) {}

  double& operator[](size_t thing) { return now_[thing]; }

  // Adds the sum of the unit that ends to the moments of a thing, and begins the next with zero.
  void end_unit(size_t thing, DiffMoments& moments, double weight, double divisor, bool first) {
    const double rate = divisor > 0 ? std::exchange(now_[thing], 0) / divisor : 0;
    const double before = std::exchange(rate_before_[thing], rate);
    if (rate == 0 && (first || before == 0)) return;
    moments.first += weight * rate;
    moments.second += weight * rate * rate;
    if (!first) moments.steps += weight * (rate - before) * (rate - before) / 2;
  }

 private:
  std::vector<double> now_;
  std::vector<double> rate_before_;
};

// Adds the samples of one unit after the other to all sums.
class Summing {
 public:
  explicit Summing(DiffTree& tree)
      : tree_(tree), nodes_(tree.nodes.size()), self_(tree.functions.size()), total_(tree.functions.size()) {}

  double measure(const model::Totals& totals) const {
    return static_cast<double>(tree_.weight == DiffWeight::kSamples ? totals.count : totals.value);
  }

  void add_sample(uint32_t node, double weight) { nodes_[node] += weight; }

  // `weight`: with which the unit enters means; `divisor`: of its rates; `first`: of its side.
  void end_unit(DiffSide side, double weight, double divisor, bool first) {
    const auto s = static_cast<size_t>(side);
    for (size_t i = 1; i < tree_.nodes.size(); ++i) self_[tree_.nodes[i].function] += nodes_[i];
    for (size_t i = tree_.nodes.size(); i-- > 0;) {
      DiffNode& node = tree_.nodes[i];
      const double total = nodes_[i];
      if (i != 0) nodes_[node.parent] += total;
      if (i != 0 && node.outermost) total_[node.function] += total;
      nodes_.end_unit(i, node.moments[s], weight, divisor, first);
    }
    for (size_t i = 0; i < tree_.functions.size(); ++i) {
      self_.end_unit(i, tree_.sums[i].self_moments[s], weight, divisor, first);
      total_.end_unit(i, tree_.sums[i].total_moments[s], weight, divisor, first);
    }
  }

 private:
  DiffTree& tree_;
  UnitSums nodes_;
  UnitSums self_;
  UnitSums total_;
};

// Whole sums, which are exact.
void add_totals(DiffTree& tree) {
  for (size_t i = tree.nodes.size(); i-- > 0;) {
    DiffNode& node = tree.nodes[i];
    for (size_t s = 0; s < kDiffSides; ++s) {
      add(node.total[s], node.self[s]);
      if (i != 0) add(tree.nodes[node.parent].total[s], node.total[s]);
      if (node.function == DiffFunctions::kNone) continue;
      add(tree.sums[node.function].self[s], node.self[s]);
      if (node.outermost) add(tree.sums[node.function].total[s], node.total[s]);
    }
  }
}

// Kish: as many samples of equal weight tell as much as those of a profile, for one unit of weight.
double samples_of_weight(const model::Samples& samples, DiffWeight weight) {
  if (weight == DiffWeight::kSamples) return 1;
  double sum = 0;
  double squares = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const double value = static_cast<double>(samples.value[i]);
    sum += value;
    if (samples.count[i] > 0) squares += value * value / static_cast<double>(samples.count[i]);
  }
  return squares > 0 ? sum / squares : 1;
}

// One profile of a side, its samples placed in the tree.
struct Placed {
  DiffProfile input;
  std::vector<uint32_t> nodes;
};

class SideSums {
 public:
  SideSums(DiffTree& tree, DiffSide side, bool replicates) : tree_(tree), side_(side), sums_(tree.sides[index()]) {
    sums_.replicates = replicates;
    sums_.divisor = 0;
  }

  void add(const Placed& placed, Summing& summing) {
    const model::Samples& samples = placed.input.profile->samples;
    for (size_t i = 0; i < samples.size(); ++i) {
      const model::Totals weight{samples.count[i], samples.value[i]};
      analysis::add(tree_.nodes[placed.nodes[i]].self[index()], weight);
      analysis::add(sums_.whole, weight);
    }
    const double per_weight = samples_of_weight(samples, tree_.weight);
    const double seconds = seconds_of(*placed.input.profile);
    sums_.seconds += seconds;
    sums_.has_times = sums_.has_times || !samples.time.empty();
    const double divisor = tree_.by == DiffBy::kSecond ? seconds : tree_.by == DiffBy::kWork ? placed.input.work : 1;
    sums_.divisor += divisor;
    const Parts parts = sums_.replicates ? Parts() : Parts(*placed.input.profile);
    sums_.unit_seconds = parts.count > 1 ? parts.length / kNanoseconds : 0;
    add_parts(placed, summing, parts, per_weight, divisor / static_cast<double>(parts.count));
  }

  void finish() {
    const double count = static_cast<double>(std::max<size_t>(1, sums_.units.size()));
    for (const DiffUnit& unit : sums_.units) {
      sums_.sum_of_sizes += unit.size;
      sums_.mean_inverse_size += 1 / unit.size / count;
      sums_.weight_of_units += sums_.replicates ? 1 : unit.size;
    }
    // Above 2^63 there is no telling, and more than enough.
    sums_.effective_samples = static_cast<uint64_t>(std::min(effective_ + 0.5, 9e18));
    const double whole =
        static_cast<double>(tree_.weight == DiffWeight::kSamples ? sums_.whole.count : sums_.whole.value);
    sums_.samples_of_weight = whole > 0 ? effective_ / whole : 1;
  }

 private:
  size_t index() const { return static_cast<size_t>(side_); }

  void add_parts(const Placed& placed, Summing& summing, const Parts& parts, double per_weight, double divisor) {
    const model::Samples& samples = placed.input.profile->samples;
    const auto order = in_parts(samples, parts);
    size_t at = 0;
    for (size_t part = 0; part < parts.count; ++part) {
      double whole = 0;
      for (; at < order.size() && parts.of(samples, order[at]) == part; ++at) {
        const double weight = summing.measure({samples.count[order[at]], samples.value[order[at]]});
        summing.add_sample(placed.nodes[order[at]], weight);
        whole += weight;
      }
      effective_ += whole * per_weight;
      const double by = tree_.by == DiffBy::kShare ? whole : divisor;
      const double size = by * per_weight;
      if (size <= 0) continue;  // a second in which nothing ran has no shares
      const bool first = sums_.units.empty();
      sums_.units.push_back({whole, size});
      summing.end_unit(side_, sums_.replicates ? 1 : size, by, first);
    }
  }

  static std::vector<uint32_t> in_parts(const model::Samples& samples, const Parts& parts) {
    std::vector<uint32_t> order(samples.size());
    std::iota(order.begin(), order.end(), 0u);
    if (parts.count > 1 && !std::is_sorted(samples.time.begin(), samples.time.end())) {
      std::stable_sort(order.begin(), order.end(),
                       [&](uint32_t a, uint32_t b) { return parts.of(samples, a) < parts.of(samples, b); });
    }
    return order;
  }

  DiffTree& tree_;
  const DiffSide side_;
  DiffSums& sums_;
  double effective_ = 0;
};

}  // namespace

DiffTree diff_tree(const std::vector<DiffProfile>& profiles, const DiffTreeOptions& options) {
  DiffTree tree;
  tree.by = options.by;
  tree.weight = options.weight;
  DiffFunctions functions(profiles, options.match);
  Grower grower(tree.nodes);
  std::vector<Placed> placed;
  for (size_t i = 0; i < profiles.size(); ++i) {
    placed.push_back({profiles[i], Placer(*profiles[i].profile, functions, i, options.threads, grower).place()});
  }
  tree.joined_threads = functions.joined_threads();
  tree.not_renamed = functions.not_renamed();
  tree.functions = std::move(functions).take_names();
  tree.sums.resize(tree.functions.size());
  link_children(tree);
  mark_outermost(tree);
  Summing summing(tree);
  for (const DiffSide side : {DiffSide::kBefore, DiffSide::kAfter}) {
    const auto of_side = [side](const Placed& one) { return one.input.side == side; };
    SideSums sums(tree, side, std::count_if(placed.begin(), placed.end(), of_side) > 1);
    for (const Placed& one : placed) {
      if (of_side(one)) sums.add(one, summing);
    }
    sums.finish();
  }
  add_totals(tree);
  return tree;
}

}  // namespace tephra::analysis
