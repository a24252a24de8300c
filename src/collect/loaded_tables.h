#pragma once

#include <cstdint>
#include <map>

#include "kernel/stack_program.h"
#include "unwind/frame_table.h"

namespace tephra::collect {

// The call-frame tables that the in-kernel unwinder holds, within a limit on their memory: those that no process uses
// any more are dropped when the room is needed, the one unused for longest first.
class LoadedTables {
 public:
  LoadedTables(kernel::StackProgram& program, uint64_t most_bytes) : program_(program), most_bytes_(most_bytes) {}

  // The number of a table for one more user, loading it first where needed. 0: there is no room, or it has no rows.
  uint32_t take(const unwind::FrameTable& table);
  // One user less.
  void give_back(uint32_t number);

  struct Totals {
    uint64_t bytes = 0;
    uint64_t tables = 0;
    uint64_t dropped = 0;  // to make room
    uint64_t refused = 0;  // times there was no room
  };
  const Totals& totals() const { return totals_; }

 private:
  struct Loaded {
    uint32_t number = 0;
    uint64_t bytes = 0;
    uint64_t users = 0;
    uint64_t last_used = 0;  // a count of uses, not a time
  };
  using Tables = std::map<const void*, Loaded>;  // by where their rows are

  bool make_room(uint64_t bytes);
  Tables::iterator longest_unused();

  kernel::StackProgram& program_;
  uint64_t most_bytes_;
  Tables tables_;
  std::map<uint32_t, const void*> by_number_;
  uint64_t uses_ = 0;
  Totals totals_;
};

}  // namespace tephra::collect
