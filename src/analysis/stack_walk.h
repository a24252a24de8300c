#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/profile.h"

namespace tephra::analysis {

// The tree of stacks seen from above: the model keeps each row's parent, this keeps each row's children.
class StackChildren {
 public:
  explicit StackChildren(const model::Profile& profile);

  // Calls visit(StackId) for every child of `stack`, in row order.
  template <class Visit>
  void for_each(model::StackId stack, Visit visit) const {
    for (uint32_t child = first_[stack.value]; child != 0; child = next_[child]) visit(model::StackId{child});
  }
  model::StackId first(model::StackId stack) const { return {first_[stack.value]}; }
  model::StackId next(model::StackId stack) const { return {next_[stack.value]}; }

 private:
  std::vector<uint32_t> first_;  // 0: none, since row 0 is nobody's child
  std::vector<uint32_t> next_;
};

// For every row of the stack tree, whether its key differs from the keys of all its callers: only such rows count
// towards the total of a key, or recursion would count a sample twice. `key_of_frame` has a key below `key_count` for
// every frame. One walk over the tree, however deep it is.
std::vector<bool> outermost_rows(const model::Profile& profile, const StackChildren& children,
                                 std::span<const uint32_t> key_of_frame, size_t key_count);

// The same without the children of rows, where each row stands right behind its caller or the rows below another callee
// of that, as readers that sort stacks leave them; else nothing.
std::optional<std::vector<bool>> outermost_rows_in_order(const model::Profile& profile,
                                                         std::span<const uint32_t> key_of_frame, size_t key_count);

}  // namespace tephra::analysis
