#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

#include "base/result.h"

namespace tephra::cli {

// Declares --redact[=KEY-FILE]; `value` is the file, or empty without one.
void declare_redact(CLI::App& parser, std::optional<std::string>& value);

// The key in a file, without the line break at its end; a random one, made for this once, where `path` is empty.
base::Result<std::string> redaction_key(const std::string& path);

}  // namespace tephra::cli
