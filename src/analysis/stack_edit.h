#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/pattern.h"
#include "model/profile.h"

namespace tephra::analysis {

// What to change about the stacks of a profile before it is looked at. The first group has pprof's meaning: an
// expression is looked for in the name of a frame's function, in the path of its source file and in that of its module.
struct StackEdit {
  std::optional<base::Pattern> focus;       // only samples with such a frame
  std::optional<base::Pattern> ignore;      // no samples with such a frame
  std::optional<base::Pattern> hide;        // such frames are left out of their stacks
  std::optional<base::Pattern> show;        // all others are; samples without any are left out
  std::optional<base::Pattern> show_from;   // callers of the outermost such frame are; samples without one are, too
  std::optional<base::Pattern> prune_from;  // callees of the innermost such frame are; names alone are matched
  std::optional<base::Pattern> tag_focus;   // only samples with such a label, "key:value"
  std::optional<base::Pattern> tag_ignore;  // no samples with such a label

  std::string tag_root;  // the key of a label that becomes the outermost frame; empty: none does
  std::string tag_leaf;  // likewise, the innermost

  std::vector<std::string> bases;  // callers of the outermost function of this very name are left out
  bool fold_recursion = false;     // a function that calls itself is one frame
  bool merge_templates = false;    // names lose what stands in angle brackets, and what is equal then is one
  std::optional<base::Pattern> merge_threads;  // names of threads get a * where this matches, and equal ones are one

  // Functions at which stacks end, unless the second matches, too: how a profile leaves out the insides of allocators
  // (RecordingFacts::drop_frames). Matched against names alone.
  std::optional<base::Pattern> drop;
  std::optional<base::Pattern> keep;

  bool changes_anything() const;
};

struct EditedProfile {
  model::Profile profile;
  model::Totals before;
  model::Totals kept;                // what samples that were left out do not stand for
  std::vector<std::string> nowhere;  // expressions that matched nothing, "--hide 'x'"
};

// The profile with its stacks changed; samples that are left out are counted in what is returned. `named` is the same
// profile before its names were replaced (model::redact), or `profile` itself: its names are matched. Linear in frames,
// stacks and samples, besides the matching, which is done once a function.
EditedProfile edit_stacks(const model::Profile& profile, const StackEdit& edit, const model::Profile& named);

}  // namespace tephra::analysis
