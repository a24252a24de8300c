#pragma once

#include <string>

namespace tephra::base {

// Where a program is that is started by this name, as execvp finds it: by PATH unless the name has a slash. Empty where
// there is none.
std::string find_program(const std::string& name);

}  // namespace tephra::base
