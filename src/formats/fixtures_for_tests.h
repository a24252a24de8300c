#pragma once

#include <cstdlib>
#include <filesystem>

namespace tephra::formats {

// Public profiles, in a folder beside the project that is not part of it. `format`: the folder of one format there.
inline std::filesystem::path fixture_folder(const char* format) {
  const char* given = std::getenv("TEPHRA_FIXTURES");
  const std::filesystem::path all =
      given != nullptr ? std::filesystem::path(given) : std::filesystem::path(TEPHRA_SOURCE_DIR) / "../shared/fixtures";
  return all / format;
}

#define SKIP_WITHOUT_FIXTURE_FOLDER(folder) \
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no fixtures: set TEPHRA_FIXTURES"

}  // namespace tephra::formats
