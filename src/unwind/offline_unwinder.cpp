#include "unwind/offline_unwinder.h"

#include <sys/utsname.h>

#include <string>

#include "unwind/stack_walker.h"

namespace tephra::unwind {
namespace {

// A vDSO that tells no build id is that of this kernel if the recording is.
bool is_of_this_kernel(const model::RecordingFacts& facts) {
  struct utsname name {};
  return ::uname(&name) == 0 && facts.os_release == name.release && (facts.arch.empty() || facts.arch == name.machine);
}

}  // namespace

std::unique_ptr<stream::Unwinder::Walker> OfflineUnwinder::walker(const stream::AddressSpaces& spaces,
                                                                  const stream::JitCode& code,
                                                                  const model::Profile& so_far,
                                                                  std::string_view machine) {
  const auto known = machine_named(machine);
  if (!known) return nullptr;
  const bool own_vdso = is_of_this_kernel(so_far.facts);
  return std::make_unique<StackWalker>(
      *known, spaces, code, so_far, [this, &so_far, own_vdso](const model::Mapping& mapping) -> const FrameTable* {
        if (mapping.kind != model::CodeKind::kVdso) {
          return tables_.find({std::string(so_far.text(mapping.path)), mapping.build_id, mapping.file});
        }
        return mapping.build_id.empty() && !own_vdso ? nullptr : tables_.find_vdso(mapping.build_id);
      });
}

}  // namespace tephra::unwind
