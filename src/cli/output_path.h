#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace tephra::cli {

// A slip in a command line must not cost a file that nothing brings back.

// A usage error where what is to be written is what is read, by whatever name. "-" is standard output, and input.
base::Status refuse_input(const std::string& output, const std::string& input);

// A usage error where a recording would take the place of the program that is to be run, or of any other program.
base::Status refuse_program(const std::string& output, std::span<const std::string> command);

}  // namespace tephra::cli
