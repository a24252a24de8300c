#include "kernel/near_match.h"

#include <algorithm>
#include <utility>

namespace tephra::kernel {
namespace {

// How many insertions, deletions and replacements turn one into the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> near_matches(std::string_view wanted, const std::vector<std::string>& names, size_t limit) {
  std::vector<std::pair<size_t, std::string>> ranked;
  if (wanted.empty() || wanted.size() > 200) return {};
  const size_t allowed = std::max<size_t>(2, wanted.size() / 3);
  for (const std::string& name : names) {
    const size_t longer = std::max(name.size(), wanted.size()) - std::min(name.size(), wanted.size());
    size_t distance = longer > allowed ? allowed + 1 : edit_distance(wanted, name);
    if (name.find(wanted) != std::string::npos) distance = std::min<size_t>(distance, 2);
    if (distance <= allowed) ranked.emplace_back(distance, name);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> best;
  for (auto& [distance, name] : ranked) {
    if (best.size() == limit) break;
    best.push_back(std::move(name));
  }
  return best;
}

std::string did_you_mean(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::string text = "Did you mean ";
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text + "?";
}

}  // namespace tephra::kernel
