#include "analysis/top_waits.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/lock_names.h"
#include "analysis/telling_frames.h"

namespace tephra::analysis {

std::vector<TopWait> top_waits(const model::Profile& profile, size_t limit) {
  const std::vector<model::FrameId> frames = telling_frames(profile);
  const std::vector<WaitKind> kinds = wait_kinds(profile);
  const std::vector<std::string_view> locks = lock_names(profile);
  std::map<std::tuple<WaitKind, std::string_view, std::string_view, std::string_view>, TopWait> sums;
  for (uint32_t row = 0; row < profile.samples.size(); ++row) {
    const model::FrameId frame = frames[profile.samples.stack[row].value];
    TopWait wait{.kind = row < kinds.size() ? kinds[row] : WaitKind::kNone};
    if (wait.kind == WaitKind::kLock && row < profile.samples.labels.size()) {
      wait.lock = locks[profile.samples.labels[row].value];
    }
    if (frame) {
      wait.function = profile.function_name(frame);
      wait.module = profile.text(profile.mappings[profile.frames[frame].mapping].path);
      wait.kernel = profile.in_kernel(frame);
    }
    TopWait& sum = sums.try_emplace({wait.kind, wait.lock, wait.function, wait.module}, wait).first->second;
    sum.nanoseconds += profile.samples.value[row];
    sum.count += profile.samples.count[row];
  }
  std::vector<TopWait> waits;
  for (const auto& [key, wait] : sums) waits.push_back(wait);
  std::ranges::stable_sort(waits, [](const TopWait& a, const TopWait& b) { return a.nanoseconds > b.nanoseconds; });
  waits.resize(std::min(waits.size(), limit));
  return waits;
}

}  // namespace tephra::analysis
