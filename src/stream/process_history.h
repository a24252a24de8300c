#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/number_hash.h"
#include "model/profile_assembler.h"
#include "stream/address_space.h"
#include "stream/event.h"
#include "stream/jit_code.h"
#include "stream/recording.h"

namespace tephra::stream {

// Who ran under which name, with what mapped where, at any moment of a recording. Built from the side-band events in
// time order; afterwards immutable, so threads may share it.
class ProcessHistory {
 public:
  // Mappings and names are interned in `assembler`, which must outlive the history. `recording` supplies build ids for
  // files whose mappings carry none.
  ProcessHistory(model::ProfileAssembler& assembler, const Recording& recording);

  // `moment` is the event's time, or its place in the file where there are no times; it never decreases.
  void apply(const Event& event, uint64_t moment);
  // After the last event.
  void complete();

  // A span of time during which something held: [from, until).
  template <class T>
  struct Period {
    T value{};
    uint64_t from = 0;
    uint64_t until = UINT64_MAX;
    bool covers(uint64_t moment) const { return from <= moment && moment < until; }
  };

  Period<AddressSpaces::State> address_space(int32_t pid, uint64_t moment) const;
  // What was mapped before the last exec; kEmpty where there was none. Until the new program first runs, the thread's
  // user registers still belong there.
  Period<AddressSpaces::State> space_before_exec(int32_t pid, uint64_t moment) const;
  Period<AddressSpaces::State> kernel_space(uint64_t moment) const;
  // The name of a thread; StringId{} where the recording does not tell.
  Period<model::StringId> comm(int32_t pid, int32_t tid, uint64_t moment) const;
  // Whether a process never had user memory: a kernel thread.
  bool is_kernel_thread(int32_t pid) const;

  const AddressSpaces& spaces() const { return spaces_; }
  // Generated code. Changes of it are applied between events, in the order of time.
  const JitCode& jit() const { return jit_; }
  JitCode& jit() { return jit_; }
  // The mapping for kernel addresses outside every recorded range.
  model::MappingId kernel_image() const { return kernel_image_; }

 private:
  template <class T>
  struct Change {
    uint64_t moment;
    T value;
  };
  template <class T>
  using Changes = std::vector<Change<T>>;
  struct Process {
    Changes<AddressSpaces::State> spaces;
    Changes<AddressSpaces::State> before_exec;
    bool shared = false;  // the newest state is also another process's
    bool had_memory = false;
  };

  void apply_mmap(const Mmap& mmap, uint64_t moment);
  void apply_kernel_mmap(const Mmap& mmap, uint64_t moment);
  void apply_comm(const Comm& comm, uint64_t moment);
  void apply_fork(const Fork& fork, uint64_t moment);
  void apply_code_object(const CodeObject& object, uint64_t moment);
  model::Mapping describe(const Mmap& mmap);
  void map(Process& process, const MappedRange& range, uint64_t moment);

  template <class T>
  static void change(Changes<T>& changes, uint64_t moment, T value);
  template <class T>
  static Period<T> at(const Changes<T>& changes, uint64_t moment);

  model::ProfileAssembler& assembler_;
  bool converted_ = false;
  std::unordered_map<std::string, model::BuildId> build_ids_;
  model::BuildId kernel_build_id_;
  AddressSpaces spaces_;
  JitCode jit_;
  std::unordered_map<int32_t, Process, base::NumberHash> processes_;
  std::unordered_map<int32_t, Changes<model::StringId>, base::NumberHash> comms_;  // by thread
  Process kernel_;
  model::MappingId kernel_image_;
};

}  // namespace tephra::stream
