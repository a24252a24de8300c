#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

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

// The content of a file, and who wrote it.
struct RegularContent : base::FileContent {
  RegularContent(base::FileContent content, uid_t owner_of_file)
      : base::FileContent(std::move(content)), owner(owner_of_file) {}
  uid_t owner;
};

// The content of a regular file of a plausible size, mapped. Unlike FileContent::open it never blocks, never opens a
// device and reads nothing into memory, since the paths come from recordings. `refusal`, unless null, is set: kNone
// where nothing is there or it cannot be opened.
base::Result<RegularContent> open_regular(const std::string& path, Refusal* refusal = nullptr);
// The same of an open descriptor.
base::Result<RegularContent> content_of_regular(int fd, const std::string& name_for_errors, Refusal* refusal = nullptr);

// Whether what a user wrote may decide what this one is shown later: strangers can give a file any build id.
bool is_trusted_owner(uid_t owner);

}  // namespace tephra::symbols
