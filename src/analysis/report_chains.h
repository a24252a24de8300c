#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/report.h"
#include "analysis/stack_walk.h"
#include "model/profile.h"

namespace tephra::analysis {

// Sums of samples over the rows of the stack tree, for a few of its stacks at a time: the cost is that of the rows
// these stacks have, not of the whole tree. add(), then settle(), then below(); clear() before the next.
class StackWeights {
 public:
  explicit StackWeights(const model::Profile& profile)
      : profile_(profile), below_(profile.stacks.size()), touched_(profile.stacks.size(), false) {}

  void add(model::StackId stack, const model::Totals& weight);
  // Adds each row's weight to its caller's and returns all rows with a weight, callees before callers, without row 0.
  std::span<const model::StackId> settle();
  // The weight of the samples at this row or below it.
  const model::Totals& below(model::StackId stack) const { return below_[stack.value]; }
  void clear();

 private:
  void touch(model::StackId stack);
  void settle_by_pass();
  void settle_by_rows();

  const model::Profile& profile_;
  std::vector<model::Totals> below_;
  std::vector<bool> touched_;
  std::vector<model::StackId> rows_;
};

// Builds the call chains of a report's rows, for one context (the samples of one thread, command …) at a time.
class ChainBuilder {
 public:
  struct Options {
    ChainOrder order = ChainOrder::kCaller;
    bool with_callees = true;  // also the chains that only pass through the row's function
    double smallest = 0;       // branches that weigh less are left out
    bool by_count = false;     // weigh by count rather than value
  };

  ChainBuilder(const model::Profile& profile, const StackChildren& children, std::span<const uint32_t> key_of_frame,
               const std::vector<bool>& outermost, const Options& options);

  // As in StackWeights, for the samples of a context.
  void add(model::StackId stack, const model::Totals& weight);
  void settle();
  void clear();

  // The chains of the row with this key of frames.
  std::vector<ChainNode> chains(uint32_t key);

 private:
  // A row of the tree, and how much of its weight takes part.
  struct Part {
    model::StackId row;
    model::Totals weight;
  };
  // The rows of a list in the order of their keys that have this key.
  std::span<const Part> with_key(const std::vector<Part>& parts, uint32_t key) const;
  template <class Parts>
  std::vector<ChainNode> group(std::vector<Part> parts, int depth, const Parts& parts_after);
  std::vector<ChainNode> callers_first(uint32_t key);
  std::vector<ChainNode> callees_first(uint32_t key);
  template <class Weight>
  std::vector<ChainNode> down_from(std::vector<Part> parts, const Weight& weight);

  uint32_t key_of(model::StackId row) const { return key_of_frame_[profile_.stacks[row].frame.value]; }
  model::StringId name_of(model::StackId row) const;
  void rank(std::vector<ChainNode>& nodes) const;
  bool large_enough(const model::Totals& weight) const;

  const model::Profile& profile_;
  const StackChildren& children_;
  std::span<const uint32_t> key_of_frame_;
  const std::vector<bool>& outermost_;
  const Options options_;
  std::vector<Part> samples_;         // of the context; by key once settled
  std::vector<Part> outermost_rows_;  // those that no row of their key is below, by key
  StackWeights all_;                  // of the context
  StackWeights own_;                  // of the samples that fell in the row at hand
  size_t nodes_ = 0;                  // that were made for all rows
};

}  // namespace tephra::analysis
