#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "base/file.h"

namespace tephra::symbols {

// The content of a file, and who wrote it.
struct RegularContent : base::FileContent {
  RegularContent(base::FileContent content, uid_t owner_of_file)
      : base::FileContent(std::move(content)), owner(owner_of_file) {}
  uid_t owner;
};

// The content of a regular file of a plausible size. Unlike FileContent::open it never blocks and never opens a device,
// since the paths come from recordings.
base::Result<RegularContent> open_regular(const std::string& path);
// The same of an open descriptor.
base::Result<RegularContent> content_of_regular(int fd, const std::string& name_for_errors);

// Whether what a user wrote may decide what this one is shown later: strangers can give a file any build id.
bool is_trusted_owner(uid_t owner);
// Whether open_regular() found something there and would not have it.
bool is_refusal(const base::Error& error);

}  // namespace tephra::symbols
