#pragma once

#include "model/profile.h"

namespace tephra::symbols {

// Shows functions that a profile brought with their parameters, as far as it tells them: where the name shown is what
// is left of the other one without.
void show_whole_names(model::Profile& profile);

}  // namespace tephra::symbols
