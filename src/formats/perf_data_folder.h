#pragma once

#include <span>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace tephra::formats {

// `perf record --threads` writes a folder: the file `data` with everything but most records, and those in `data.0`,
// `data.1` …, one for each thread of the recorder, without a header.

// Whether a folder is one of these.
bool is_perf_data_folder(const std::string& path);

// All of it as one perf.data file.
base::Result<std::string> read_perf_data_folder(const std::string& path);

// The same from bytes: `file` with the records of `parts` behind its own.
base::Result<std::string> join_perf_data(base::Bytes file, std::span<const base::Bytes> parts);

}  // namespace tephra::formats
