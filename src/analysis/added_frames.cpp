#include "analysis/added_frames.h"

namespace tephra::analysis {

model::FrameId add_frame(std::string_view name, model::Profile& profile) {
  const model::StringId text = profile.strings.add(name);
  const model::MappingId none = profile.mappings.add({.kind = model::CodeKind::kImported});
  const model::FunctionId function = profile.functions.add({.name = text, .system_name = text, .named = true});
  return profile.frames.add({.mapping = none, .function = function});
}

}  // namespace tephra::analysis
