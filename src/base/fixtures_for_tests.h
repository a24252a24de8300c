#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tephra::base {

// Public profiles that tests read, in a folder beside the project that is not part of it, or where TEPHRA_FIXTURES
// says. Tests that find no `part` of them there are skipped.
inline std::filesystem::path fixtures(const std::string& part) {
  const char* given = std::getenv("TEPHRA_FIXTURES");
  const std::filesystem::path beside = std::filesystem::path(TEPHRA_SOURCE_DIR) / "../shared/fixtures";
  return (given != nullptr ? std::filesystem::path(given) : beside) / part;
}

}  // namespace tephra::base
