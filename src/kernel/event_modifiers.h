#pragma once

#include <string_view>

#include "base/result.h"
#include "kernel/event_spec.h"

namespace tephra::kernel {

// Whether the text is made of modifier letters alone, each at most once (p up to three times).
bool are_modifiers(std::string_view text);

// The letters behind an event ("ukpp": its modes are those given and no others) and those behind its group, which add
// to them.
base::Status apply_modifiers(EventSpec& event, std::string_view own, std::string_view group = {}, bool leader = true);

}  // namespace tephra::kernel
