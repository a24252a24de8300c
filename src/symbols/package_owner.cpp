#include "symbols/package_owner.h"

#include <dirent.h>

#include <memory>
#include <string_view>
#include <unordered_map>

#include "base/file.h"

namespace tephra::symbols {
namespace {

constexpr size_t kMostLists = 50'000;  // the lists may be those of a container

std::string other_name(const std::string& path) { return path.starts_with("/usr/") ? path.substr(4) : "/usr" + path; }

// "libc6:amd64.list" to "libc6"; empty where it is no list.
std::string_view package_of_list(std::string_view file) {
  if (!file.ends_with(".list")) return {};
  file.remove_suffix(5);
  return file.substr(0, file.find(':'));
}

template <class Take>
void for_each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    take(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

// A value of /etc/os-release, without its quotes.
std::string_view value_of(std::string_view line, std::string_view name) {
  if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != '=') return {};
  line.remove_prefix(name.size() + 1);
  if (line.size() >= 2 && (line.front() == '"' || line.front() == '\'')) line = line.substr(1, line.size() - 2);
  return line;
}

bool has_word(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    const size_t end = text.find(' ');
    if (text.substr(0, end) == word) return true;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return false;
}

}  // namespace

std::map<std::string, std::string> package_owners(const std::string& root, const std::vector<std::string>& paths) {
  std::unordered_map<std::string_view, const std::string*> wanted;
  std::vector<std::string> others;
  others.reserve(paths.size());
  for (const std::string& path : paths) {
    wanted.emplace(path, &path);
    wanted.emplace(others.emplace_back(other_name(path)), &path);
  }
  std::map<std::string, std::string> owners;
  const std::string folder = root + "/var/lib/dpkg/info";
  const std::unique_ptr<DIR, int (*)(DIR*)> lists(::opendir(folder.c_str()), ::closedir);
  if (!lists || paths.empty()) return owners;
  size_t seen = 0;
  while (const dirent* entry = ::readdir(lists.get())) {
    const std::string_view package = package_of_list(entry->d_name);
    if (package.empty()) continue;
    if (++seen > kMostLists) break;
    const auto text = base::read_small_file(folder + "/" + entry->d_name);
    if (!text) continue;
    for_each_line(*text, [&](std::string_view line) {
      if (const auto found = wanted.find(line); found != wanted.end()) owners[*found->second] = package;
    });
    if (owners.size() == paths.size()) break;
  }
  return owners;
}

std::string debug_package_of(const std::string& package) {
  // The C library has one of its own, older than the rule.
  return package == "libc6" ? "libc6-dbg" : package + "-dbgsym";
}

Distribution distribution_of(const std::string& root) {
  const auto text = base::read_small_file(root + "/etc/os-release", 1 << 16);
  Distribution found = Distribution::kOther;
  if (!text) return found;
  for_each_line(*text, [&](std::string_view line) {
    for (const char* name : {"ID", "ID_LIKE"}) {
      const auto value = value_of(line, name);
      if (has_word(value, "debian") || has_word(value, "ubuntu")) found = Distribution::kDebian;
      if (has_word(value, "fedora") || has_word(value, "rhel") || has_word(value, "centos")) {
        found = Distribution::kFedora;
      }
    }
  });
  return found;
}

}  // namespace tephra::symbols
