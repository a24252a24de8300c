#include "analysis/lock_names.h"

#include <algorithm>

#include "model/lock_places.h"

namespace tephra::analysis {

std::vector<std::string_view> lock_names(const model::Profile& profile) {
  std::vector<std::string_view> names;
  for (const model::LabelSet& set : profile.label_sets) {
    const auto is_lock = [&](const model::Label& label) { return profile.text(label.key) == model::kLockKey; };
    const auto lock = std::ranges::find_if(set.labels, is_lock);
    const std::string_view name = lock == set.labels.end() ? std::string_view() : profile.text(lock->text);
    names.push_back(name.starts_with("0x") ? std::string_view() : name);
  }
  return names;
}

}  // namespace tephra::analysis
