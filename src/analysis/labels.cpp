#include "analysis/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/wait_frames.h"
#include "base/names.h"

namespace tephra::analysis {
namespace {

struct Mark {
  std::string_view text;
  FrameKind kind;
};
constexpr std::array<Mark, 6> kMarks{{{"_[k]", FrameKind::kKernel},
                                      {"_[j]", FrameKind::kJit},
                                      {"_[1]", FrameKind::kJit},
                                      {"_[0]", FrameKind::kInterpreted},
                                      {"_[w]", FrameKind::kWaiting},
                                      {"_[i]", FrameKind::kNative}}};

// The functions in which interpreters go from instruction to instruction.
constexpr std::array<std::string_view, 15> kLoops{"_PyEval_EvalFrameDefault",
                                                  "_PyEval_EvalFrame",
                                                  "PyEval_EvalFrameEx",
                                                  "PyEval_EvalFrame",
                                                  "vm_exec_core",
                                                  "rb_vm_exec",
                                                  "vm_exec",
                                                  "Perl_runops_standard",
                                                  "execute_ex",
                                                  "luaV_execute",
                                                  "Interpreter",
                                                  "Builtins_InterpreterEntryTrampoline",
                                                  "Builtin:InterpreterEntryTrampoline",
                                                  "Builtins_InterpreterEnterAtBytecode",
                                                  "Builtin:InterpreterEnterAtBytecode"};

// What interpreters call their functions where they name them for profilers: CPython's trampolines, and V8's mark for
// functions without compiled code.
bool is_interpreted(std::string_view name) {
  if (std::find(kLoops.begin(), kLoops.end(), name) != kLoops.end()) return true;
  for (const std::string_view begin : {"py::", "LazyCompile:~", "Function:~", "JS:~", "Script:~"}) {
    if (name.starts_with(begin)) return true;
  }
  return false;
}

}  // namespace

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
    for (const Mark& mark : kMarks) {
      if (name.ends_with(mark.text) && mark.kind != FrameKind::kNative) return mark.kind;
    }
    if (is_wait_frame(name)) return FrameKind::kWaiting;
    if (is_interpreted(name)) return FrameKind::kInterpreted;
    return name.starts_with("[unknown]") ? FrameKind::kUnnamed : FrameKind::kNative;
  }
  if (!profile.functions[profile.frames[frame].function].named) return FrameKind::kUnnamed;
  if (is_interpreted(name)) return FrameKind::kInterpreted;
  return code == model::CodeKind::kAnonymous || code == model::CodeKind::kJit ? FrameKind::kJit : FrameKind::kNative;
}

bool is_inlined(const model::Profile& profile, model::FrameId frame) {
  if (profile.frames[frame].inlined) return true;
  return profile.code_kind(frame) == model::CodeKind::kImported && profile.function_name(frame).ends_with("_[i]");
}

std::string_view without_mark(std::string_view label) {
  for (const Mark& mark : kMarks) {
    if (label.size() > mark.text.size() && label.ends_with(mark.text)) return label.substr(0, label.size() - 4);
  }
  return label;
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
