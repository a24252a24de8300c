#pragma once

#include <string>

#include "base/file.h"

namespace tephra::symbols {

// Why something that is there is not read.
enum class Refusal {
  kNone,
  kNotRegular,
  kNotStored,  // the kernel makes it up as it is read
  kEmpty,      // or says so
  kImplausibleSize,
  kCannotBeMapped,
};

// The content of a regular file of a plausible size, mapped. Unlike FileContent::open it never blocks, never opens a
// device and reads nothing into memory, since the paths come from recordings. `refusal`, unless null, is set: kNone
// where nothing is there or it cannot be opened.
base::Result<base::FileContent> open_regular(const std::string& path, Refusal* refusal = nullptr);
// The same of an open descriptor.
base::Result<base::FileContent> content_of_regular(int fd, const std::string& name_for_errors,
                                                   Refusal* refusal = nullptr);

}  // namespace tephra::symbols
