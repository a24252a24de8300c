#include "analysis/labels.h"

#include <fmt/format.h>

#include "base/names.h"

namespace tephra::analysis {

std::string frame_label(const model::Profile& profile, model::FrameId frame, const LabelOptions& options) {
  const auto name = profile.function_name(frame);
  const model::Frame& row = profile.frames[frame];
  if (name.empty()) return fmt::format("[unknown] {}+{:#x}", module_name(profile, row.mapping), row.address);
  std::string label = options.shorten ? base::shorten_cpp_name(name) : std::string(name);
  if (options.mark_inlined && row.inlined) label += " (inlined)";
  return label;
}

FrameKind frame_kind(const model::Profile& profile, model::FrameId frame) {
  const model::CodeKind code = profile.code_kind(frame);
  if (model::is_kernel(code)) return FrameKind::kKernel;
  const auto name = profile.function_name(frame);
  if (code == model::CodeKind::kImported) {
    if (name.ends_with("_[k]")) return FrameKind::kKernel;
    if (name.ends_with("_[j]")) return FrameKind::kJit;
    return name.starts_with("[unknown]") ? FrameKind::kUnnamed : FrameKind::kNative;
  }
  if (!profile.functions[profile.frames[frame].function].named) return FrameKind::kUnnamed;
  return code == model::CodeKind::kAnonymous || code == model::CodeKind::kJit ? FrameKind::kJit : FrameKind::kNative;
}

bool is_inlined(const model::Profile& profile, model::FrameId frame) {
  if (profile.frames[frame].inlined) return true;
  return profile.code_kind(frame) == model::CodeKind::kImported && profile.function_name(frame).ends_with("_[i]");
}

std::string_view module_path(const model::Profile& profile, model::MappingId mapping) {
  const model::Mapping& row = profile.mappings[mapping];
  const std::string_view path = profile.text(row.path);
  // Its path is the name of one function.
  if (row.kind == model::CodeKind::kJit) return "[jit]";
  return row.kind == model::CodeKind::kAnonymous && path == "//anon" ? "[anon]" : path;
}

std::string_view module_name(const model::Profile& profile, model::MappingId mapping) {
  const model::CodeKind kind = profile.mappings[mapping].kind;
  if (kind == model::CodeKind::kKernel || kind == model::CodeKind::kKernelUnmapped) return "[kernel]";
  const std::string_view path = module_path(profile, mapping);
  return path.empty() ? "[unknown]" : base::path_base_name(path);
}

}  // namespace tephra::analysis
