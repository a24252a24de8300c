#include "objects/debuginfod_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include <fmt/format.h>

namespace tephra::objects {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

std::string debuginfod_cache_folder() {
  if (std::string path = variable("DEBUGINFOD_CACHE_PATH"); !path.empty()) return path;
  const std::string home = variable("HOME");
  const std::string older = (home.empty() ? "/" : home) + "/.debuginfod_client_cache";
  if (::access(older.c_str(), F_OK) == 0) return older;
  if (const std::string xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) return xdg + "/debuginfod_client";
  return (home.empty() ? "/" : home) + "/.cache/debuginfod_client";
}

void forget_absence(const std::string& cache_folder, base::Bytes build_id, std::string_view name) {
  std::string path = cache_folder + "/";
  for (const std::byte byte : build_id) path += fmt::format("{:02x}", static_cast<unsigned>(byte));
  path.append("/").append(name);
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0) ::unlink(path.c_str());
}

}  // namespace tephra::objects
