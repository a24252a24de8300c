#include "formats/script_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/names.h"

namespace tephra::formats {
namespace {

using model::CodeKind;

constexpr uint64_t kKernelAddresses = uint64_t{1} << 63;

// "/lib/modules/…/nf-tables.ko.xz" is shown as [nf_tables].
std::string kernel_module_name(std::string_view path) {
  if (path.starts_with('[')) return std::string(path);
  path = base::path_base_name(path);
  std::string name(path.substr(0, path.find(".ko")));
  std::replace(name.begin(), name.end(), '-', '_');
  return "[" + name + "]";
}

bool is_generated_code(std::string_view path) {
  return path.empty() || path == "//anon" || path.starts_with("/dev/zero") || path.starts_with("/anon_hugepage");
}

// The number in "perf-123.map" and "jitted-123-4.so".
std::optional<int32_t> pid_of_generated(std::string_view path) {
  const std::string_view name = base::path_base_name(path);
  std::string_view digits;
  if (name.starts_with("perf-") && name.ends_with(".map")) {
    digits = name.substr(5, name.size() - 9);
  } else if (name.starts_with("jitted-") && name.ends_with(".so")) {
    digits = name.substr(7, std::min(name.size() - 10, name.find('-', 7) - 7));
  }
  int32_t pid = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), pid);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return pid;
}

bool is_kernel_module_file(std::string_view name) {
  for (const std::string_view ending : {".ko", ".ko.xz", ".ko.gz", ".ko.zst", ".ko.debug"}) {
    if (name.ends_with(ending)) return true;
  }
  return false;
}

CodeKind kind_in_brackets(std::string_view module) {
  constexpr std::array<std::string_view, 4> kUser{"[heap]", "[stack]", "[uprobes]", "[vsyscall]"};
  if (module == "[vdso]" || module == "[vdso32]") return CodeKind::kVdso;
  if (std::find(kUser.begin(), kUser.end(), module) != kUser.end() || module.starts_with("[anon")) {
    return CodeKind::kAnonymous;
  }
  return module.starts_with("[kernel.") || module.starts_with("[guest.kernel.") ? CodeKind::kKernel
                                                                                : CodeKind::kKernelModule;
}

}  // namespace

std::string script_module(const model::Profile& profile, const model::Mapping& mapping) {
  const auto path = profile.text(mapping.path);
  switch (mapping.kind) {
    case CodeKind::kKernel:
      return "[kernel.kallsyms]";
    case CodeKind::kKernelModule:
      return kernel_module_name(path);
    case CodeKind::kJit:
      return fmt::format("/tmp/perf-{}.map", mapping.pid);
    case CodeKind::kAnonymous:
      if (is_generated_code(path)) return fmt::format("/tmp/perf-{}.map", mapping.pid);
      break;
    default:
      break;
  }
  return path.empty() ? "[unknown]" : std::string(path);
}

ScriptModule parse_script_module(std::string_view module, uint64_t address) {
  if (module.empty() || module == "[unknown]") {
    return {address >= kKernelAddresses ? CodeKind::kKernelUnmapped : CodeKind::kNone, 0};
  }
  if (const auto pid = pid_of_generated(module)) return {CodeKind::kJit, *pid};
  if (module.starts_with('[')) return {kind_in_brackets(module), 0};
  const std::string_view name = base::path_base_name(module);
  if (name.starts_with("vmlinux")) return {CodeKind::kKernel, 0};
  if (is_kernel_module_file(name)) return {CodeKind::kKernelModule, 0};
  if (module.starts_with("bpf_prog_") || module.starts_with("bpf_trampoline_")) return {CodeKind::kKernelCode, 0};
  if (is_generated_code(module) || module.starts_with("anon_inode:")) return {CodeKind::kAnonymous, 0};
  return {CodeKind::kFile, 0};
}

}  // namespace tephra::formats
