#include "kernel/folder.h"

#include <dirent.h>

#include <algorithm>
#include <functional>
#include <memory>

namespace tephra::kernel {
namespace {

std::vector<std::string> names_in(const std::string& folder, size_t limit,
                                  const std::function<bool(const dirent&)>& wanted) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> handle(::opendir(folder.c_str()), ::closedir);
  if (!handle) return names;
  while (const dirent* entry = ::readdir(handle.get())) {
    if (names.size() == limit) break;
    if (entry->d_name[0] != '.' && wanted(*entry)) names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::vector<std::string> entries_of(const std::string& folder, size_t limit) {
  return names_in(folder, limit, [](const dirent&) { return true; });
}

std::vector<std::string> folders_in(const std::string& folder) {
  return names_in(folder, SIZE_MAX, [](const dirent& entry) { return entry.d_type == DT_DIR; });
}

}  // namespace tephra::kernel
