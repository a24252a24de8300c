#include "analysis/top.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "analysis/labels.h"
#include "analysis/stack_walk.h"

namespace tephra::analysis {
namespace {

using model::FrameId;
using model::StackId;

struct FrameKeys {
  std::vector<uint32_t> of_frame;
  std::vector<TopEntry> entries;  // one for each key; entry 0 is that of the empty stack
};

// Frames of the same function name in the same file are one entry, wherever in the function they are.
FrameKeys key_frames(const model::Profile& profile) {
  FrameKeys keys{std::vector<uint32_t>(profile.frames.size(), 0), {TopEntry{.function = "[no stack]"}}};
  std::unordered_map<uint64_t, uint32_t> index;
  for (uint32_t i = 1; i < profile.frames.size(); ++i) {
    const model::Frame& frame = profile.frames[FrameId{i}];
    const model::StringId name = profile.functions[frame.function].name;
    const model::Mapping& mapping = profile.mappings[frame.mapping];
    // Of generated code the path is the name again, so that it is one entry in all processes that have it.
    const uint64_t both = static_cast<uint64_t>(name.value) << 32 | mapping.path.value;
    const auto [at, fresh] = index.try_emplace(both, static_cast<uint32_t>(keys.entries.size()));
    if (fresh) {
      keys.entries.push_back({.function = profile.text(name),
                              .module = module_path(profile, frame.mapping),
                              .kernel = model::is_kernel(mapping.kind)});
    }
    keys.of_frame[i] = at->second;
  }
  return keys;
}

void add_totals(const model::Profile& profile, FrameKeys& keys) {
  std::vector<model::Totals> below(profile.stacks.size());
  const model::Samples& samples = profile.samples;
  for (size_t i = 0; i < samples.size(); ++i) {
    below[samples.stack[i].value].count += samples.count[i];
    below[samples.stack[i].value].value += samples.value[i];
  }
  for (uint32_t row = 0; row < below.size(); ++row) {
    TopEntry& entry = keys.entries[keys.of_frame[profile.stacks[StackId{row}].frame.value]];
    entry.self_count += below[row].count;
    entry.self_value += below[row].value;
  }
  keys.entries[0].total_count = keys.entries[0].self_count;
  keys.entries[0].total_value = keys.entries[0].self_value;

  const StackChildren children(profile);
  const auto outermost = outermost_rows(profile, children, keys.of_frame, keys.entries.size());
  // Parents stand before their children: backwards, every row is complete when it is reached.
  for (uint32_t row = static_cast<uint32_t>(below.size()); row-- > 1;) {
    const model::Stack& stack = profile.stacks[StackId{row}];
    below[stack.parent.value].count += below[row].count;
    below[stack.parent.value].value += below[row].value;
    if (!outermost[row]) continue;
    TopEntry& entry = keys.entries[keys.of_frame[stack.frame.value]];
    entry.total_count += below[row].count;
    entry.total_value += below[row].value;
  }
}

bool ranks_before(const TopEntry& a, const TopEntry& b) {
  return std::tie(b.self_value, b.self_count, b.total_value, b.total_count, a.function, a.module) <
         std::tie(a.self_value, a.self_count, a.total_value, a.total_count, b.function, b.module);
}

}  // namespace

std::vector<TopEntry> top_functions(const model::Profile& profile, size_t limit) {
  FrameKeys keys = key_frames(profile);
  add_totals(profile, keys);
  auto& entries = keys.entries;
  std::erase_if(entries, [](const TopEntry& entry) { return entry.total_count == 0; });
  limit = std::min(limit, entries.size());
  std::partial_sort(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(limit), entries.end(), ranks_before);
  entries.resize(limit);
  return std::move(entries);
}

}  // namespace tephra::analysis
