#include "analysis/activity_frames.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "analysis/label_frames.h"
#include "analysis/tcp_summary.h"

namespace tephra::analysis {

model::Profile with_activity_frames(model::Profile profile) {
  // How the names of events begin, and the label that says what they were.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTelling{
      {{"syscall-", "call"}, {"block-", "operation"}, {"file-", "operation"}}};
  for (const auto& telling : kTelling) {
    const bool is_there = std::ranges::any_of(profile.events, [&](const model::Event& event) {
      return profile.text(event.name).starts_with(telling.first);
    });
    if (!is_there) continue;
    const bool done = add_label_frames(profile, telling.second, LabelPlace::kLeaf, LabelNaming::kText);
    if (done && telling.second == "operation") break;  // of both
  }
  return with_tcp_frames(std::move(profile));
}

}  // namespace tephra::analysis
