#include "analysis/call_summary.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/telling_frames.h"
#include "stream/syscall_reading.h"

namespace tephra::analysis {
namespace {

std::string_view call_of(const model::Profile& profile, size_t row) {
  if (profile.samples.labels.empty()) return {};
  for (const model::Label& label : profile.label_sets[profile.samples.labels[row]].labels) {
    if (profile.text(label.key) == stream::kCallLabel) return profile.text(label.text);
  }
  return {};
}

}  // namespace

CallSummary call_summary(const model::Profile& profile, size_t limit) {
  const std::vector<model::FrameId> frames = telling_frames(profile);
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, CallSummary::Row> sums;
  CallSummary summary;
  for (size_t row = 0; row < profile.samples.size(); ++row) {
    const std::string_view event = profile.text(profile.events[profile.samples.event[row]].name);
    const bool counts = event == stream::kSyscallCounts;
    if (!counts && event != stream::kSyscallTimes) continue;
    CallSummary::Row place{.call = call_of(profile, row)};
    if (const model::FrameId frame = frames[profile.samples.stack[row].value]) {
      place.function = profile.function_name(frame);
      place.module = profile.text(profile.mappings[profile.frames[frame].mapping].path);
    }
    CallSummary::Row& sum = sums.try_emplace({place.call, place.function, place.module}, place).first->second;
    const uint64_t value = profile.samples.value[row];
    (counts ? sum.count : sum.nanoseconds) += value;
    (counts ? summary.count : summary.nanoseconds) += value;
  }
  for (const auto& [key, row] : sums) summary.rows.push_back(row);
  std::ranges::stable_sort(summary.rows, [](const CallSummary::Row& a, const CallSummary::Row& b) {
    return std::tie(a.count, a.nanoseconds) > std::tie(b.count, b.nanoseconds);
  });
  summary.rows.resize(std::min(summary.rows.size(), limit));
  return summary;
}

}  // namespace tephra::analysis
