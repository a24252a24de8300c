#include "analysis/frame_groups.h"

#include <algorithm>

#include "base/names.h"

namespace tephra::analysis {
namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

// "java/util/HashMap" or "java.util.HashMap.put" up to the class, which begins with a capital letter; empty where there
// is no class behind a package.
std::string java_package(std::string_view path, char separator) {
  size_t begin = 0;
  while (begin < path.size()) {
    if (is_upper(path[begin])) break;
    const size_t end = path.find(separator, begin);
    if (end == std::string_view::npos) return "";
    begin = end + 1;
  }
  if (begin == 0 || begin >= path.size()) return "";
  std::string package(path.substr(0, begin - 1));
  std::replace(package.begin(), package.end(), '/', '.');
  return package;
}

bool is_identifier(std::string_view text) {
  const auto fits = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || is_upper(c) || (c & 0x80) != 0;
  };
  return !text.empty() && !(text[0] >= '0' && text[0] <= '9') && std::all_of(text.begin(), text.end(), fits);
}

// What stands before the first "::", without a type in front of it ("void ns::f<int>") and without the brackets of
// Rust's implementations ("<alloc::vec::Vec<T> as Trait>::f").
std::string leading_namespace(std::string_view name) {
  std::string_view before = name.substr(0, name.find("::"));
  before.remove_prefix(std::min(before.size(), before.find_last_of(" <&*(") + 1));
  return is_identifier(before) ? std::string(before) : "";
}

// "/srv/node_modules/express/lib/router.js:42" is of express; with a scope, of "@scope/name".
std::string node_package(std::string_view name) {
  constexpr std::string_view kFolder = "node_modules/";
  const size_t at = name.rfind(kFolder);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = name.substr(at + kFolder.size());
  size_t end = rest.find('/');
  if (rest.starts_with('@') && end != std::string_view::npos) end = rest.find('/', end + 1);
  return std::string(rest.substr(0, end));
}

// "py::function:/path/module.py"
std::string python_module(std::string_view name) {
  const size_t colon = name.rfind(':');
  const std::string_view file = base::path_base_name(name.substr(colon + 1));
  return std::string(file.substr(0, file.rfind(".py")));
}

// "github.com/me/app/store.(*Table).Get": the import path goes up to the first dot behind the last slash. Brackets of
// type arguments may hold paths of their own.
std::string go_package(std::string_view name) {
  name = name.substr(0, name.find_first_of("[("));
  const size_t slash = name.rfind('/');
  const size_t from = slash == std::string_view::npos ? 0 : slash + 1;
  const size_t dot = name.find('.', from);
  if (dot == std::string_view::npos || dot == from) return "";
  const std::string_view last = name.substr(from, dot - from);
  return slash != std::string_view::npos || is_identifier(last) ? std::string(name.substr(0, dot)) : "";
}

std::string folder_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "." : std::string(path.substr(0, std::max<size_t>(slash, 1)));
}

}  // namespace

std::string package_of(std::string_view name) {
  if (name.starts_with("[")) return "";
  if (name.starts_with("py::")) return python_module(name);
  if (std::string node = node_package(name); !node.empty()) return node;
  // perf's maps of Java: "Ljava/util/HashMap;::put", "java/util/HashMap.put", "java.util.HashMap.put".
  if (name.starts_with('L') && name.find(";::") != std::string_view::npos) {
    return java_package(name.substr(1, name.find(';') - 1), '/');
  }
  if (name.find("::") != std::string_view::npos) return leading_namespace(name);
  const std::string_view words = name.substr(0, name.find_first_of("([ <"));
  if (words.find('/') != std::string_view::npos) {
    // Go's import paths mostly begin with a host, "github.com"; Java's packages have no dots here.
    const bool is_host = words.find('.') < words.find('/');
    const std::string java = is_host || words.starts_with('/') ? "" : java_package(words, '/');
    return java.empty() ? go_package(name) : java;
  }
  if (std::string java = java_package(words, '.'); java.find('.') != std::string::npos) return java;
  return go_package(name);
}

std::string group_of(const model::Profile& profile, const CallNode& node, const CallName& name, GroupBy by) {
  if (name.kind == FrameKind::kBase) return "";
  const bool imported = node.mapping && profile.mappings[node.mapping].kind == model::CodeKind::kImported;
  switch (by) {
    case GroupBy::kModule:
      if (node.mapping && !imported) return std::string(module_name(profile, node.mapping));
      return name.kind == FrameKind::kKernel ? "[kernel]" : "";
    case GroupBy::kPackage:
      return name.kind == FrameKind::kKernel ? "[kernel]" : package_of(without_mark(name.label));
    case GroupBy::kSource:
      if (node.file) return folder_of(profile.text(node.file));
      return name.kind == FrameKind::kKernel ? "[kernel]" : "";
  }
  return "";
}

}  // namespace tephra::analysis
