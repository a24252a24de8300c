#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/profile.h"
#include "views/flame_colors.h"
#include "views/packed_columns.h"

namespace tephra::views {

// The tables of a profile as the page of the HTML report reads them; web/src/profile.ts is the other side. All are
// columns, named TABLE.COLUMN:
//
//   name      every distinct text of a frame, in the order in which siblings are drawn: text, short (for the eye; empty
//             where it is the text), function (the first row that tables count together with it: the same text, inlined
//             or not), kind (analysis::FrameKind), inlined, tone (of `tones`), shade (frame_shade)
//   module    name, path; row 0 is none
//   file      path; row 0 is none
//   frame     name, module, file, first_line, last_line (0: unknown), in the order of their names
//   stack     depth, frame: the call tree of all samples with threads' names at its base, in depth-first order. Row 0
//   is
//             the root. A row's parent is the nearest row before it whose depth is one less.
//   thread    pid, tid (both plus one, 0: unknown), and of the names above, plus one, 0 for none: comm, comm_pid and
//             comm_pid_tid, what stacks stand on
//   sample    stack, thread, event, count, value, and time (from the first sample, in `time_unit_ns`) where it is
//   known.
//             Rows that agree in all but count and value are one; in the order of time where there is one.
//   wait      stack, thread, kind (of `wait_kinds`), begin and length (in `time_unit_ns`, begin from the first sample):
//             waits that are known one by one. They are among the samples, too. Absent where there are none.
struct ReportData {
  PackedColumns columns;
  std::vector<const Tone*> tones;
  bool timed = false;
  uint64_t first_time = 0;
  uint64_t time_unit_ns = 1;
  std::vector<std::string_view> wait_kinds;  // empty: no single wait is known
  uint32_t wait_event = 0;                   // whose samples they are
};

// Of a symbolized profile. With `full_names` names are not shortened for the eye.
ReportData report_data(const model::Profile& profile, Palette palette, bool full_names);

}  // namespace tephra::views
