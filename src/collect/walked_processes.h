#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
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
  using Clock = std::chrono::steady_clock;

  // The call-frame table of a mapping of a process.
  struct Answer {
    const unwind::FrameTable* table = nullptr;  // null: there is none
    bool no_file = false;                       // because the file is not at hand
  };
  // Where facts come from; tests have others.
  struct Sources {
    std::function<std::optional<ProcessCode>(pid_t pid, pid_t tid)> code;
    std::function<Answer(pid_t pid, const CodeMapping& mapping)> table;
    std::function<bool(pid_t pid)> exists;
  };

  WalkedProcesses(kernel::StackProgram& program, uint64_t most_table_bytes, Sources sources)
      : program_(program), tables_(program, most_table_bytes), sources_(std::move(sources)) {}

  // A sample met a process, or memory of one, that the program does not know. A process that is asked for again and
  // again in vain is looked at less and less often.
  void wanted(pid_t pid, pid_t tid, Clock::time_point now);
  // It may have other code mapped by now; a no-op for one that is not known.
  void changed(pid_t pid, pid_t tid);
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
    std::vector<uint32_t> tables;  // that it uses
    bool whole = true;             // nothing was left out for want of room
    uint64_t last_set = 0;
  };
  struct Refusal {
    Clock::time_point until;
    std::chrono::milliseconds wait{};
  };

  // True: the list is another one than before.
  bool learn(pid_t pid, pid_t tid);
  base::Status set(pid_t pid, Known& process);
  bool forget_oldest(pid_t but);
  void refuse_for_a_while(pid_t pid, Clock::time_point now);

  kernel::StackProgram& program_;
  LoadedTables tables_;
  Sources sources_;
  std::map<pid_t, Known> known_;
  std::map<pid_t, Refusal> refusals_;
  uint64_t sets_ = 0;
  uint64_t no_room_ = 0;
};

}  // namespace tephra::collect
