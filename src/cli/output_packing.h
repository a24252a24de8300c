#pragma once

#include <string>

#include "base/result.h"

namespace tephra::cli {

// A usage error where the name of an output asks for a packing that is not written: all but gzip.
base::Status refuse_packing(const std::string& output);

// Writes a file as base::write_file does, packed by gzip where its name ends in .gz and the content is not packed yet.
base::Status write_output(const std::string& output, std::string content);

}  // namespace tephra::cli
