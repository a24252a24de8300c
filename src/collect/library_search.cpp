#include "collect/library_search.h"

#include <glob.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.h"

namespace tephra::collect {
namespace {

constexpr int kDeepestInclude = 4;

#if defined(__x86_64__)
constexpr const char* kTriplet = "x86_64-linux-gnu";
#elif defined(__aarch64__)
constexpr const char* kTriplet = "aarch64-linux-gnu";
#endif

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(1, slash));
}

void replace_all(std::string& text, std::string_view what, const std::string& with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

std::vector<std::string> files_of_pattern(const std::string& pattern) {
  std::vector<std::string> files;
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return files;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  const size_t end = text.find_last_not_of(kBlanks);
  return end == std::string_view::npos ? std::string_view{} : text.substr(begin, end + 1 - begin);
}

void add_configured(const std::string& path, int depth, std::vector<std::string>& folders) {
  const auto content = base::read_small_file(path);
  if (!content || depth > kDeepestInclude) return;
  std::string_view text = *content;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, std::min(end, text.find('#'))));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with('/')) folders.emplace_back(line);
    if (!line.starts_with("include")) continue;
    const std::string pattern(trimmed(line.substr(std::string_view("include").size())));
    const std::string whole = pattern.starts_with('/') ? pattern : folder_of(path) + "/" + pattern;
    for (const std::string& file : files_of_pattern(whole)) add_configured(file, depth + 1, folders);
  }
}

void append(std::vector<std::string>& all, const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

std::vector<std::string> search_folders(std::string_view list, const std::string& asking) {
  std::vector<std::string> folders;
  while (!list.empty()) {
    const size_t end = std::min(list.find(':'), list.size());
    std::string folder(list.substr(0, end));
    replace_all(folder, "${ORIGIN}", folder_of(asking));
    replace_all(folder, "$ORIGIN", folder_of(asking));
    if (!folder.empty()) folders.push_back(std::move(folder));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return folders;
}

std::vector<std::string> configured_folders(const std::string& path) {
  std::vector<std::string> folders;
  add_configured(path, 0, folders);
  return folders;
}

LibrarySearch::LibrarySearch() : usual_(configured_folders("/etc/ld.so.conf")) {
  if (const char* const list = std::getenv("LD_LIBRARY_PATH")) before_ = search_folders(list, "");
#if defined(__x86_64__) || defined(__aarch64__)
  append(usual_, {std::string("/lib/") + kTriplet, std::string("/usr/lib/") + kTriplet});
#endif
  append(usual_, {"/lib64", "/usr/lib64", "/lib", "/usr/lib"});
}

std::vector<std::string> LibrarySearch::candidates(std::string_view name, const std::string& asking,
                                                   const objects::DynamicSection& section,
                                                   const std::vector<std::string>& program_rpath) const {
  if (name.find('/') != std::string_view::npos) return search_folders(name, asking);
  std::vector<std::string> folders = search_folders(section.rpath, asking);
  // A file with DT_RUNPATH is not looked for by the DT_RPATH of those that loaded it.
  if (section.runpath.empty()) append(folders, program_rpath);
  append(folders, before_);
  append(folders, search_folders(section.runpath, asking));
  append(folders, usual_);
  for (std::string& folder : folders) folder += "/" + std::string(name);
  return folders;
}

}  // namespace tephra::collect
