#include "analysis/report_chains.h"

#include <algorithm>
#include <tuple>

namespace tephra::analysis {
namespace {

using model::StackId;
using model::Totals;

// Chains deeper than this are cut, since trees are printed and freed by recursion. Stacks so deep are recursion gone
// wild or made up.
constexpr int kDeepestChain = 1024;
// And a report holds no more of their nodes than this: functions that all lie on one deep stack would repeat most of it
// each.
constexpr size_t kMostNodes = 2'000'000;

void operator+=(Totals& sum, const Totals& more) {
  sum.count += more.count;
  sum.value += more.value;
}

}  // namespace

void StackWeights::touch(StackId stack) {
  if (touched_[stack.value]) return;
  touched_[stack.value] = true;
  rows_.push_back(stack);
}

void StackWeights::add(StackId stack, const Totals& weight) {
  touch(stack);
  below_[stack.value] += weight;
}

std::span<const StackId> StackWeights::settle() {
  // Where samples are all over the tree, a pass over it is faster than to collect their rows and sort them.
  constexpr size_t kMany = 128;
  if (rows_.size() > profile_.stacks.size() / kMany) {
    settle_by_pass();
  } else {
    settle_by_rows();
  }
  const bool has_root = !rows_.empty() && !rows_.back();
  return std::span(rows_).first(rows_.size() - has_root);
}

// Callers stand before their callees in the table.
void StackWeights::settle_by_pass() {
  rows_.clear();
  rows_.reserve(profile_.stacks.size());
  for (uint32_t i = static_cast<uint32_t>(profile_.stacks.size()); i-- > 0;) {
    if (!touched_[i]) continue;
    rows_.push_back(StackId{i});
    if (i == 0) break;
    const uint32_t parent = profile_.stacks[StackId{i}].parent.value;
    touched_[parent] = true;
    below_[parent] += below_[i];
  }
}

void StackWeights::settle_by_rows() {
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i]) touch(profile_.stacks[rows_[i]].parent);
  }
  std::sort(rows_.begin(), rows_.end(), std::greater<>());
  for (const StackId row : rows_) {
    if (row) below_[profile_.stacks[row].parent.value] += below_[row.value];
  }
}

void StackWeights::clear() {
  for (const StackId row : rows_) {
    below_[row.value] = {};
    touched_[row.value] = false;
  }
  rows_.clear();
}

ChainBuilder::ChainBuilder(const model::Profile& profile, const StackChildren& children,
                           std::span<const uint32_t> key_of_frame, const std::vector<bool>& outermost,
                           const Options& options)
    : profile_(profile),
      children_(children),
      key_of_frame_(key_of_frame),
      outermost_(outermost),
      options_(options),
      all_(profile),
      own_(profile) {}

void ChainBuilder::add(StackId stack, const Totals& weight) {
  samples_.push_back({stack, weight});
  all_.add(stack, weight);
}

// Sorts by key once, since every row of the report asks for its own samples and stacks.
void ChainBuilder::settle() {
  const auto by_key = [&](const Part& a, const Part& b) { return key_of(a.row) < key_of(b.row); };
  std::stable_sort(samples_.begin(), samples_.end(), by_key);
  outermost_rows_.clear();
  for (const StackId row : all_.settle()) {
    if (outermost_[row.value]) outermost_rows_.push_back({row, all_.below(row)});
  }
  std::stable_sort(outermost_rows_.begin(), outermost_rows_.end(), by_key);
}

std::span<const ChainBuilder::Part> ChainBuilder::with_key(const std::vector<Part>& parts, uint32_t key) const {
  const auto begin = std::lower_bound(parts.begin(), parts.end(), key,
                                      [&](const Part& part, uint32_t wanted) { return key_of(part.row) < wanted; });
  const auto end = std::upper_bound(begin, parts.end(), key,
                                    [&](uint32_t wanted, const Part& part) { return wanted < key_of(part.row); });
  return {begin, end};
}

void ChainBuilder::clear() {
  samples_.clear();
  outermost_rows_.clear();
  all_.clear();
}

std::vector<ChainNode> ChainBuilder::chains(uint32_t key) {
  return options_.order == ChainOrder::kCaller ? callers_first(key) : callees_first(key);
}

model::StringId ChainBuilder::name_of(StackId row) const {
  return profile_.functions[profile_.frames[profile_.stacks[row].frame].function].name;
}

bool ChainBuilder::large_enough(const Totals& weight) const {
  const uint64_t measure = options_.by_count ? weight.count : weight.value;
  return weight.count > 0 && static_cast<double>(measure) >= options_.smallest;
}

// Joins rows of the same function into nodes, drops the small ones, and asks parts_after(parts) for the rows that
// follow those of a node. Small branches are dropped before they are followed, so the work is that of what is shown.
template <class Parts>
std::vector<ChainNode> ChainBuilder::group(std::vector<Part> parts, int depth, const Parts& parts_after) {
  std::vector<ChainNode> nodes;
  std::sort(parts.begin(), parts.end(), [&](const Part& a, const Part& b) {
    return std::tuple(name_of(a.row), a.row) < std::tuple(name_of(b.row), b.row);
  });
  for (size_t begin = 0; begin < parts.size();) {
    size_t end = begin;
    Totals weight;
    while (end < parts.size() && name_of(parts[end].row) == name_of(parts[begin].row)) weight += parts[end++].weight;
    if (large_enough(weight)) {
      ChainNode& node = nodes.emplace_back(ChainNode{profile_.text(name_of(parts[begin].row)), weight, {}});
      auto next = parts_after(std::span<const Part>(parts).subspan(begin, end - begin));
      ++nodes_;
      if (depth < kDeepestChain && nodes_ < kMostNodes) {
        node.children = group(std::move(next), depth + 1, parts_after);
      } else if (!next.empty()) {
        node.children.push_back({"[deeper calls are not shown]", weight, {}});
      }
    }
    begin = end;
  }
  rank(nodes);
  return nodes;
}

void ChainBuilder::rank(std::vector<ChainNode>& nodes) const {
  const auto measure = [&](const ChainNode& node) { return options_.by_count ? node.weight.count : node.weight.value; };
  std::sort(nodes.begin(), nodes.end(), [&](const ChainNode& a, const ChainNode& b) {
    return measure(a) != measure(b) ? measure(a) > measure(b) : a.name < b.name;
  });
}

template <class Weight>
std::vector<ChainNode> ChainBuilder::down_from(std::vector<Part> parts, const Weight& weight) {
  return group(std::move(parts), 0, [&](std::span<const Part> from) {
    std::vector<Part> next;
    for (const Part& part : from) {
      children_.for_each(part.row, [&](StackId child) {
        if (const Totals w = weight(child); w.count > 0) next.push_back({child, w});
      });
    }
    return next;
  });
}

std::vector<ChainNode> ChainBuilder::callers_first(uint32_t key) {
  for (const Part& sample : with_key(samples_, key)) own_.add(sample.row, sample.weight);
  // Samples that fell here: the whole way from the outermost caller.
  std::vector<Part> outer;
  for (const StackId row : own_.settle()) {
    if (!profile_.stacks[row].parent && own_.below(row).count > 0) outer.push_back({row, own_.below(row)});
  }
  auto nodes = down_from(std::move(outer), [&](StackId row) { return own_.below(row); });

  if (options_.with_callees) {
    // The others: from here down to where they fell.
    const auto others = [&](StackId row) {
      return Totals{all_.below(row).count - own_.below(row).count, all_.below(row).value - own_.below(row).value};
    };
    std::vector<Part> through;
    for (const Part& part : with_key(outermost_rows_, key)) {
      if (const Totals weight = others(part.row); weight.count > 0) through.push_back({part.row, weight});
    }
    auto more = down_from(std::move(through), others);
    nodes.insert(nodes.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    rank(nodes);
  }
  own_.clear();
  return nodes;
}

std::vector<ChainNode> ChainBuilder::callees_first(uint32_t key) {
  std::vector<Part> from;
  if (options_.with_callees) {
    const auto parts = with_key(outermost_rows_, key);
    from.assign(parts.begin(), parts.end());
  } else {
    for (const Part& sample : with_key(samples_, key)) {
      if (sample.row) from.push_back(sample);
    }
  }
  return group(std::move(from), 0, [&](std::span<const Part> parts) {
    std::vector<Part> next;
    for (const Part& part : parts) {
      if (const StackId caller = profile_.stacks[part.row].parent) next.push_back({caller, part.weight});
    }
    return next;
  });
}

}  // namespace tephra::analysis
