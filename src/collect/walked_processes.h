#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "collect/loaded_tables.h"
#include "collect/process_code.h"
#include "kernel/stack_program.h"

namespace tephra::collect {

// The processes whose stacks the in-kernel unwinder can walk: lists their mappings for it, finds the tables of what
// they have mapped, and keeps both as they are by now. For one thread.
class WalkedProcesses {
 public:
  // The call-frame table of a mapping of a process.
  struct Answer {
    std::shared_ptr<const unwind::FrameTable> table;  // null: there is none
    bool no_file = false;                             // because the file is not at hand
  };
  // Where facts come from; tests have others.
  struct Sources {
    std::function<std::optional<ProcessCode>(pid_t pid, pid_t tid)> code;
    std::function<Answer(pid_t pid, pid_t tid, const CodeMapping& mapping)> table;
    std::function<bool(pid_t pid)> exists;
  };

  WalkedProcesses(kernel::StackProgram& program, uint64_t most_table_bytes, Sources sources)
      : program_(program), tables_(program, most_table_bytes), sources_(std::move(sources)) {}

  // What learning a process took of CPU time, but for what was done for the first time, such as making tables.
  using Cost = std::chrono::nanoseconds;

  // A sample met a process, or memory of one, that the program does not know. The program asks for the same thing a few
  // times a second at most.
  Cost wanted(pid_t pid, pid_t tid);
  // It may have other code mapped by now; a no-op for one that is not known.
  Cost changed(pid_t pid, pid_t tid);
  void ended(pid_t pid);
  // Forgets those whose end was not told. To be called now and then.
  void forget_vanished();
  void forget_all();

  struct Totals {
    uint64_t processes = 0;  // known now
    uint64_t no_room = 0;    // times a process could not be made known
    LoadedTables::Totals tables;
  };
  Totals totals() const;

 private:
  struct Known {
    ProcessCode code;
    std::vector<tephra_walk_mapping> listed;  // what the program was told
    std::vector<uint32_t> tables;             // that it uses
    bool whole = true;                        // nothing was left out for want of room
    uint64_t last_set = 0;
  };

  void learn(pid_t pid, pid_t tid);
  // `before`: how it was known until now, null where it was not.
  void list(pid_t pid, pid_t tid, Known& process, const Known* before);
  void list_again(const tephra_walk_mapping& listed, Known& process);
  tephra_walk_mapping describe(pid_t pid, pid_t tid, const CodeMapping& mapping, Known& process);
  void give_back_tables(Known& process);
  bool forget_oldest(pid_t but);

  kernel::StackProgram& program_;
  LoadedTables tables_;
  Sources sources_;
  std::map<pid_t, Known> known_;
  uint64_t sets_ = 0;
  uint64_t no_room_ = 0;
  Cost spent_once_{0};  // by what is being learnt
};

}  // namespace tephra::collect
