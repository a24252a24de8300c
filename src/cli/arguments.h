#pragma once

#include <CLI/CLI.hpp>

#include <span>
#include <string>

#include "base/result.h"

namespace tephra::cli {

// A parser for one command, with the program's help layout. `examples` are shown below the options, one a line.
std::unique_ptr<CLI::App> make_parser(const std::string& name, const std::string& summary, const std::string& examples);

// Parses. True: go on; false: help was printed and the command is done. A wrong word is a usage error.
base::Result<bool> parse(CLI::App& parser, std::span<const std::string> arguments);

}  // namespace tephra::cli
