#include "stream/process_history.h"

#include <algorithm>

#include "stream/converted_facts.h"
#include "stream/jit_traces.h"

namespace tephra::stream {
namespace {

using model::CodeKind;

bool is_kernel_image(std::string_view path) {
  return path.starts_with("[kernel.kallsyms]") || path.starts_with("[kernel.vmlinux]") || path == "[kernel]";
}

}  // namespace

ProcessHistory::ProcessHistory(model::ProfileAssembler& assembler, const Recording& recording)
    : assembler_(assembler), converted_(recording.converted) {
  for (const FileBuildId& file : recording.build_ids) {
    if (file.kernel && is_kernel_image(file.path)) {
      kernel_build_id_ = file.build_id;
    } else {
      build_ids_.emplace(file.path, file.build_id);
    }
  }
}

void ProcessHistory::complete() {
  jit_.seal();
  if (kernel_image_) return;
  kernel_image_ = assembler_.mapping(
      {.path = assembler_.string("[kernel.kallsyms]"), .build_id = kernel_build_id_, .kind = CodeKind::kKernel});
}

void ProcessHistory::apply(const Event& event, uint64_t moment) {
  if (const auto* mmap = std::get_if<Mmap>(&event)) {
    apply_mmap(*mmap, moment);
  } else if (const auto* comm = std::get_if<Comm>(&event)) {
    apply_comm(*comm, moment);
  } else if (const auto* fork = std::get_if<Fork>(&event)) {
    apply_fork(*fork, moment);
  } else if (const auto* object = std::get_if<CodeObject>(&event)) {
    apply_code_object(*object, moment);
  }
}

template <class T>
void ProcessHistory::change(Changes<T>& changes, uint64_t moment, T value) {
  if (!changes.empty() && changes.back().moment == moment) {
    changes.back().value = value;
  } else {
    changes.push_back({moment, value});
  }
}

template <class T>
ProcessHistory::Period<T> ProcessHistory::at(const Changes<T>& changes, uint64_t moment) {
  const auto after = std::upper_bound(changes.begin(), changes.end(), moment,
                                      [](uint64_t when, const Change<T>& change) { return when < change.moment; });
  Period<T> period;
  if (after != changes.end()) period.until = after->moment;
  if (after != changes.begin()) {
    period.value = std::prev(after)->value;
    period.from = std::prev(after)->moment;
  }
  return period;
}

model::Mapping ProcessHistory::describe(const Mmap& mmap) {
  model::Mapping mapping;
  mapping.path = assembler_.string(mmap.path);
  mapping.build_id = mmap.build_id;
  mapping.file = mmap.file;
  if (mmap.path.starts_with("[vdso") || mmap.path.starts_with("[vectors]")) {
    mapping.kind = CodeKind::kVdso;
  } else if (converted_ && mmap.path.starts_with(kNamesOnlyPath)) {
    const std::string_view of = mmap.path.substr(kNamesOnlyPath.size());
    mapping.path = assembler_.string(of.substr(std::min(of.size(), size_t{1})));
    mapping.kind = CodeKind::kImported;
  } else if (mmap.generated || is_anonymous_memory(mmap.path)) {
    mapping.kind = CodeKind::kAnonymous;
    mapping.base = mmap.start;
    mapping.pid = mmap.pid;
  } else {
    mapping.kind = CodeKind::kFile;
    if (mapping.build_id.empty()) {
      if (const auto found = build_ids_.find(std::string(mmap.path)); found != build_ids_.end()) {
        mapping.build_id = found->second;
      }
    }
  }
  // With a build id the other marks are noise that would only keep equal files apart.
  if (!mapping.build_id.empty()) mapping.file = {};
  return mapping;
}

void ProcessHistory::map(Process& process, const MappedRange& range, uint64_t moment) {
  const bool same_moment = !process.spaces.empty() && process.spaces.back().moment == moment;
  const auto before = process.spaces.empty() ? AddressSpaces::kEmpty : process.spaces.back().value;
  change(process.spaces, moment, spaces_.map(before, range, same_moment && !process.shared));
  process.shared = false;
}

void ProcessHistory::apply_mmap(const Mmap& mmap, uint64_t moment) {
  if (mmap.kernel || mmap.pid == -1) return apply_kernel_mmap(mmap, moment);
  processes_[mmap.pid].had_memory = true;
  if (!mmap.executable || mmap.size == 0 || mmap.start + mmap.size < mmap.start) return;
  const model::Mapping mapping = describe(mmap);
  const bool of_file = mapping.kind == CodeKind::kFile || mapping.kind == CodeKind::kImported;
  const uint64_t offset = of_file ? mmap.file_offset : mapping.kind == CodeKind::kVdso ? 0 : mmap.start;
  map(processes_[mmap.pid], {mmap.start, mmap.start + mmap.size, offset, assembler_.mapping(mapping)}, moment);
}

void ProcessHistory::apply_kernel_mmap(const Mmap& mmap, uint64_t moment) {
  if (mmap.path.starts_with("[guest.")) return;
  model::Mapping mapping;
  if (is_kernel_image(mmap.path)) {
    mapping.kind = CodeKind::kKernel;
    mapping.path = assembler_.string("[kernel.kallsyms]");
    mapping.build_id = mmap.build_id.empty() ? kernel_build_id_ : mmap.build_id;
    mapping.base = mmap.file_offset;
    kernel_image_ = assembler_.mapping(mapping);
  } else {
    mapping = describe(mmap);
    mapping.kind = CodeKind::kKernelModule;
    mapping.base = mmap.start;
    mapping.pid = 0;
  }
  const uint64_t end = mmap.start + mmap.size < mmap.start ? UINT64_MAX : mmap.start + mmap.size;
  map(kernel_, {mmap.start, end, mmap.start, assembler_.mapping(mapping)}, moment);
}

void ProcessHistory::apply_comm(const Comm& comm, uint64_t moment) {
  change(comms_[comm.tid], moment, assembler_.string(comm.name));
  if (!comm.exec) return;
  jit_.exec(comm.pid, moment);
  Process& process = processes_[comm.pid];
  change(process.before_exec, moment, at(process.spaces, moment).value);
  change(process.spaces, moment, AddressSpaces::kEmpty);
  process.shared = false;
}

void ProcessHistory::apply_fork(const Fork& fork, uint64_t moment) {
  const auto name = at(comms_[fork.parent_tid], moment).value;
  // An id that comes into use again has its parent's name and memory, not its predecessor's, also where nothing is
  // known of the parent.
  if (Changes<model::StringId>& names = comms_[fork.tid]; name || !names.empty()) change(names, moment, name);
  if (fork.pid == fork.parent_pid || fork.synthesized) return;
  jit_.fork(fork.pid, fork.parent_pid, moment);
  AddressSpaces::State state = AddressSpaces::kEmpty;
  bool had_memory = false;
  if (const auto parent = processes_.find(fork.parent_pid); parent != processes_.end()) {
    state = at(parent->second.spaces, moment).value;
    had_memory = parent->second.had_memory;
    parent->second.shared = true;
  } else if (!processes_.contains(fork.pid)) {
    return;
  }
  Process& child = processes_[fork.pid];
  change(child.spaces, moment, state);
  change(child.before_exec, moment, AddressSpaces::kEmpty);
  child.shared = true;
  child.had_memory = child.had_memory || had_memory;
}

void ProcessHistory::apply_code_object(const CodeObject& object, uint64_t moment) {
  const uint64_t end = object.address + object.size;
  if (object.size == 0 || end < object.address) return;
  if (object.removed) {
    const auto state = at(kernel_.spaces, moment).value;
    change(kernel_.spaces, moment, spaces_.unmap(state, object.address, end));
    kernel_.shared = true;
    return;
  }
  model::Mapping mapping;
  mapping.kind = CodeKind::kKernelCode;
  mapping.path = assembler_.string(object.name);
  mapping.base = object.address;
  map(kernel_, {object.address, end, object.address, assembler_.mapping(mapping)}, moment);
}

ProcessHistory::Period<AddressSpaces::State> ProcessHistory::address_space(int32_t pid, uint64_t moment) const {
  const auto found = processes_.find(pid);
  return found == processes_.end() ? Period<AddressSpaces::State>{} : at(found->second.spaces, moment);
}

ProcessHistory::Period<AddressSpaces::State> ProcessHistory::space_before_exec(int32_t pid, uint64_t moment) const {
  const auto found = processes_.find(pid);
  return found == processes_.end() ? Period<AddressSpaces::State>{} : at(found->second.before_exec, moment);
}

ProcessHistory::Period<AddressSpaces::State> ProcessHistory::kernel_space(uint64_t moment) const {
  return at(kernel_.spaces, moment);
}

ProcessHistory::Period<model::StringId> ProcessHistory::comm(int32_t pid, int32_t tid, uint64_t moment) const {
  Period<model::StringId> period;
  if (const auto found = comms_.find(tid); found != comms_.end()) period = at(found->second, moment);
  // A thread whose birth was not recorded has the name of its process.
  if (period.value || pid == tid) return period;
  const auto found = comms_.find(pid);
  if (found == comms_.end()) return period;
  Period<model::StringId> of_process = at(found->second, moment);
  of_process.from = std::max(of_process.from, period.from);
  of_process.until = std::min(of_process.until, period.until);
  return of_process;
}

bool ProcessHistory::is_kernel_thread(int32_t pid) const {
  if (pid < 0) return false;  // a task that was already dead, or the recording does not tell
  const auto found = processes_.find(pid);
  return found == processes_.end() || !found->second.had_memory;
}

}  // namespace tephra::stream
