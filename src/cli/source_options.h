#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "symbols/symbolize.h"

namespace tephra::cli {

// Declares --symfs, --debug-root, --no-debuginfod and --debuginfod-timeout: where names are found, beside what the
// environment says. Once the command line is parsed, `symbols` has a finder; both must outlive the parser.
void declare_sources(CLI::App& parser, symbols::Options& symbols);

// What was found and not used for names, and why; one line each, each with a line feed before it.
std::string refused_sources(const symbols::Options& symbols);

}  // namespace tephra::cli
