#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "base/result.h"

namespace tephra::cli {

// Declares --redact[=KEY-FILE]; `value` becomes the file, or "true" without one.
void declare_redact(CLI::App& parser, std::string& value);

// Declares --redact for a command that writes recordings, in which names cannot be replaced: it says what to use
// instead.
void refuse_redact(CLI::App& parser);

// The key in a file, without the line break at its end; a random one, made for this once, where `path` is "true".
base::Result<std::string> redaction_key(const std::string& path);

}  // namespace tephra::cli
