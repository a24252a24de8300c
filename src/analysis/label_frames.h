#pragma once

#include <string_view>

#include "model/profile.h"

namespace tephra::analysis {

enum class LabelPlace { kRoot, kLeaf };
enum class LabelNaming { kKeyAndText, kText };  // "class:heap", "[heap]"

// Gives the stacks of samples that have the label `key` one frame more, named by it ("class:heap"), outermost or
// innermost, as pprof's -tagroot and -tagleaf do. False where no sample has it; the profile is as it was then.
bool add_label_frames(model::Profile& profile, std::string_view key, LabelPlace place,
                      LabelNaming naming = LabelNaming::kKeyAndText);

}  // namespace tephra::analysis
