#include "analysis/stack_walk.h"

namespace tephra::analysis {

using model::StackId;

StackChildren::StackChildren(const model::Profile& profile)
    : first_(profile.stacks.size(), 0), next_(profile.stacks.size(), 0) {
  // Backwards, so that each child put in front leaves the list in row order.
  for (uint32_t row = static_cast<uint32_t>(profile.stacks.size()); row-- > 1;) {
    const uint32_t parent = profile.stacks[StackId{row}].parent.value;
    next_[row] = first_[parent];
    first_[parent] = row;
  }
}

std::vector<bool> outermost_rows(const model::Profile& profile, const StackChildren& children,
                                 std::span<const uint32_t> key_of_frame, size_t key_count) {
  std::vector<bool> outermost(profile.stacks.size(), false);
  std::vector<uint32_t> on_path(key_count, 0);  // rows of each key between the root and here
  const auto key = [&](StackId row) { return key_of_frame[profile.stacks[row].frame.value]; };

  StackId at = children.first(StackId{});
  while (at) {
    outermost[at.value] = on_path[key(at)]++ == 0;
    if (const StackId below = children.first(at)) {
      at = below;
      continue;
    }
    // Up until there is a sibling to go to, leaving each row on the way.
    while (at) {
      --on_path[key(at)];
      if (const StackId beside = children.next(at)) {
        at = beside;
        break;
      }
      at = profile.stacks[at].parent;
    }
  }
  return outermost;
}

std::optional<std::vector<bool>> outermost_rows_in_order(const model::Profile& profile,
                                                         std::span<const uint32_t> key_of_frame, size_t key_count) {
  std::vector<bool> outermost(profile.stacks.size(), false);
  std::vector<uint32_t> on_path(key_count, 0);
  std::vector<StackId> path;
  const auto key = [&](StackId row) { return key_of_frame[profile.stacks[row].frame.value]; };
  for (uint32_t i = 1; i < profile.stacks.size(); ++i) {
    const StackId parent = profile.stacks[StackId{i}].parent;
    while (!path.empty() && path.back() != parent) {
      --on_path[key(path.back())];
      path.pop_back();
    }
    if (path.empty() && parent) return std::nullopt;
    outermost[i] = on_path[key(StackId{i})]++ == 0;
    path.push_back(StackId{i});
  }
  return outermost;
}

}  // namespace tephra::analysis
