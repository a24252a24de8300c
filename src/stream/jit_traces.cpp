#include "stream/jit_traces.h"

#include <algorithm>

namespace tephra::stream {

bool is_anonymous_memory(std::string_view path) {
  return path.empty() || path == "//anon" || path.starts_with("/dev/zero") || path.starts_with("/anon_hugepage") ||
         path.starts_with("/memfd:") || path.starts_with("/SYSV") || path.starts_with("[heap]") ||
         path.starts_with("[stack") || path.starts_with("[anon") || path == "[vsyscall]" || path == "[uprobes]";
}

bool is_jitdump_path(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with("jit-") || !name.ends_with(".dump")) return false;
  name.remove_prefix(4);
  name.remove_suffix(5);
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace tephra::stream
