#pragma once

#include <cstdint>
#include <functional>

#include "stream/recording.h"
#include "stream/records.h"

namespace tephra::stream {

// Calls visit(record, position) for all records in the order of the file, and done_with, unless it is empty, with parts
// of them that were visited. Positions are those that profiles are built with.
template <class Visit>
void for_each_record(const Recording& recording, const std::function<void(base::Bytes)>& done_with, Visit visit) {
  constexpr size_t kPart = 1 << 20;
  uint64_t part_position = 0;
  for (const base::Bytes part : recording.records) {
    RecordWalker walker(part);
    Record record;
    size_t done = 0;
    for (size_t at = 0; walker.next(record); at = walker.position()) {
      visit(record, part_position + at);
      if (!done_with || at - done < kPart) continue;
      done_with(part.subspan(done, at - done));
      done = at;
    }
    if (done_with) done_with(part.subspan(done));
    part_position += part.size();
  }
}

}  // namespace tephra::stream
