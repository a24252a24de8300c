#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "model/profile.h"

namespace tephra::stream {

// A frame as tests state it: "/bin/prog+1a" with the address in the mapping, "?+1a" where no mapping is known. Return
// addresses end in "r".
inline std::string frame_text(const model::Profile& profile, model::FrameId id) {
  const model::Frame& frame = profile.frames[id];
  const auto path = profile.text(profile.mappings[frame.mapping].path);
  return fmt::format("{}+{:x}{}", frame.mapping ? path : "?", frame.address,
                     frame.kind == model::AddressKind::kReturn ? "r" : "");
}

// A row as tests state it: "comm outermost;...;leaf".
inline std::string row_text(const model::Profile& profile, size_t row) {
  std::string text;
  for (model::StackId stack = profile.samples.stack[row]; stack; stack = profile.stacks[stack].parent) {
    text = frame_text(profile, profile.stacks[stack].frame) + (text.empty() ? "" : ";") + text;
  }
  return fmt::format("{} {}", profile.text(profile.threads[profile.samples.thread[row]].comm), text);
}

inline std::vector<std::string> row_texts(const model::Profile& profile) {
  std::vector<std::string> rows;
  for (size_t i = 0; i < profile.samples.size(); ++i) rows.push_back(row_text(profile, i));
  return rows;
}

}  // namespace tephra::stream
