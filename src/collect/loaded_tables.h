#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "kernel/stack_program.h"
#include "unwind/frame_table.h"

namespace tephra::collect {

// The call-frame tables that the in-kernel unwinder holds, within limits on their memory and their number: those that
// no process uses any more are dropped when the room is needed, the one unused for longest first.
class LoadedTables {
 public:
  LoadedTables(kernel::StackProgram& program, uint64_t most_bytes) : program_(program), most_bytes_(most_bytes) {}

  // The number of a table for one more user, loading it first where needed. 0: there is no room, or it has no rows.
  // The table is held until it is dropped.
  uint32_t take(const std::shared_ptr<const unwind::FrameTable>& table);
  // One user more of a table that has one.
  void take_again(uint32_t number);
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
    std::shared_ptr<const unwind::FrameTable> table;  // so that no other can come to lie where it is
    uint32_t number = 0;
    uint64_t bytes = 0;
    uint64_t users = 0;
    uint64_t last_used = 0;  // a count of uses, not a time
  };
  // Where its rows and rules are: tables may share either with another.
  using Key = std::pair<const void*, const void*>;
  using Tables = std::map<Key, Loaded>;

  uint32_t load(const unwind::FrameTable& table, uint64_t bytes);
  bool make_room(uint64_t bytes);
  bool drop_longest_unused();
  Tables::iterator longest_unused();

  kernel::StackProgram& program_;
  uint64_t most_bytes_;
  Tables tables_;
  std::map<uint32_t, Key> by_number_;
  uint64_t uses_ = 0;
  Totals totals_;
};

}  // namespace tephra::collect
