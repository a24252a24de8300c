#pragma once

#include <string>

#include "base/file.h"

namespace tephra::symbols {

// The content of a regular file of a plausible size. Unlike FileContent::open it never blocks and never opens a device,
// since the paths come from recordings.
base::Result<base::FileContent> open_regular(const std::string& path);
// The same of an open descriptor.
base::Result<base::FileContent> content_of_regular(int fd, const std::string& name_for_errors);
// Whether open_regular() found something there and would not have it.
bool is_refusal(const base::Error& error);

}  // namespace tephra::symbols
