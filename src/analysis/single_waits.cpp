#include "analysis/single_waits.h"

#include <algorithm>

#include "stream/wait_states.h"

namespace tephra::analysis {
namespace {

bool says_single(const model::Profile& profile, const model::LabelSet& set) {
  return std::ranges::any_of(set.labels, [&](const model::Label& label) {
    return profile.text(label.key) == stream::kExtentLabel && profile.text(label.text) == stream::kSingleWait;
  });
}

}  // namespace

std::vector<SingleWait> single_waits(const model::Profile& profile) {
  const model::Samples& samples = profile.samples;
  if (samples.time.empty() || samples.labels.empty()) return {};
  std::vector<char> single;
  for (const model::LabelSet& set : profile.label_sets) single.push_back(says_single(profile, set));
  if (std::ranges::count(single, 1) == 0) return {};
  const std::vector<WaitKind> kinds = wait_kinds(profile);
  std::vector<SingleWait> waits;
  for (uint32_t row = 0; row < samples.size(); ++row) {
    const WaitKind kind = row < kinds.size() ? kinds[row] : WaitKind::kNone;
    if (kind == WaitKind::kNone || single[samples.labels[row].value] == 0) continue;
    waits.push_back({row, samples.time[row], samples.value[row], kind});
  }
  return waits;
}

}  // namespace tephra::analysis
