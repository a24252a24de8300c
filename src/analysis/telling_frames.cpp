#include "analysis/telling_frames.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/wakers.h"
#include "base/names.h"

namespace tephra::analysis {
namespace {

// Libraries whose functions wait on behalf of others.
bool waits_for_others(std::string_view path) {
  static constexpr std::array<std::string_view, 7> kLibraries{"[vdso]",    "libc.so",   "libc-2", "libpthread",
                                                              "ld-linux-", "libstdc++", "libc++"};
  const std::string_view name = base::path_base_name(path);
  return std::ranges::any_of(kLibraries, [&](std::string_view each) { return name.starts_with(each); });
}

// How well a frame tells where a program waits.
enum class Merit : uint8_t { kNone, kKernel, kLibrary, kOwn };

// One that was added to say something: "[connect]".
bool is_no_code(const model::Profile& profile, model::FrameId frame) {
  const std::string_view name = profile.function_name(frame);
  return name.starts_with('[') && name.ends_with(']') &&
         profile.text(profile.mappings[profile.frames[frame].mapping].path).empty();
}

Merit merit_of(const model::Profile& profile, model::FrameId frame) {
  if (is_no_code(profile, frame)) return Merit::kNone;
  if (profile.in_kernel(frame)) return Merit::kKernel;
  return waits_for_others(profile.text(profile.mappings[profile.frames[frame].mapping].path)) ? Merit::kLibrary
                                                                                              : Merit::kOwn;
}

}  // namespace

// Callers come first in the table, so one pass is enough.
std::vector<model::FrameId> telling_frames(const model::Profile& profile) {
  std::vector<model::FrameId> frames(profile.stacks.size());
  std::vector<Merit> merits(profile.stacks.size(), Merit::kNone);
  std::vector<char> ended(profile.stacks.size(), 0);  // who woke it is drawn from here on
  for (uint32_t row = 1; row < profile.stacks.size(); ++row) {
    const model::Stack& stack = profile.stacks[model::StackId{row}];
    frames[row] = frames[stack.parent.value];
    merits[row] = merits[stack.parent.value];
    ended[row] = ended[stack.parent.value] || profile.function_name(stack.frame).starts_with(kWokenBy);
    if (ended[row]) continue;
    const Merit merit = merit_of(profile, stack.frame);
    // The innermost of the best.
    if (merit < merits[row] || merit == Merit::kNone) continue;
    frames[row] = stack.frame;
    merits[row] = merit;
  }
  return frames;
}

}  // namespace tephra::analysis
