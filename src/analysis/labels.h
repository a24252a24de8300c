#pragma once

#include <string>
#include <string_view>

#include "model/profile.h"

namespace tephra::analysis {

struct LabelOptions {
  bool shorten = false;       // template arguments and long parameter lists collapsed (base::shorten_cpp_name)
  bool mark_inlined = false;  // " (inlined)" behind the name of an inlined function, as perf writes it
};

// The text of a frame: its function's name, else a stand-in with the module and the address. Never empty.
std::string frame_label(const model::Profile& profile, model::FrameId frame, const LabelOptions& options = {});

// What ran, as far as a picture's colours tell it apart.
enum class FrameKind : uint8_t {
  kBase,    // no code: the thread at the base of a stack, or the whole profile
  kNative,  // user code of a file or of unknown origin
  kKernel,
  kJit,          // generated code
  kInterpreted,  // functions of an interpreter, and the loop that runs them
  kWaiting,      // what a thread waits for
  kUnnamed,      // user code that has no name
};

// Names imported from folded stacks say their kind at the end: `_[k]` kernel, `_[j]` and `_[1]` generated, `_[0]`
// interpreted, `_[w]` waiting (the wakers of chain graphs). Interpreters are known by the names of their loops and of
// what they tell of their functions (`py::`); nothing else is guessed.
FrameKind frame_kind(const model::Profile& profile, model::FrameId frame);
// Also true for imported names that end in `_[i]`.
bool is_inlined(const model::Profile& profile, model::FrameId frame);

// A name without the mark at its end, which the colour shows.
std::string_view without_mark(std::string_view label);

// The code object for the eye: the file's name without folders, "[kernel]", "[jit]" for generated code that has a name,
// "[unknown]".
std::string_view module_name(const model::Profile& profile, model::MappingId mapping);
// The same with the whole path of files, and perf's words for the kernel: what reports sort by. Empty where unknown.
std::string_view module_path(const model::Profile& profile, model::MappingId mapping);

}  // namespace tephra::analysis
