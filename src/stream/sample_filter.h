#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stream/event.h"

namespace tephra::stream {

// Which samples to take. Empty lists take all.
struct SampleFilter {
  std::vector<int32_t> pids;
  std::vector<int32_t> tids;
  std::vector<int32_t> cpus;
  std::vector<std::string> comms;
  std::vector<std::string> events;
  uint64_t begin_time = 0;  // inclusive, in the recording's clock
  uint64_t end_time = UINT64_MAX;
  bool keep_idle = true;  // false: samples of the idle task are counted in Quality::idle and left out
  // false: samples of the recorder itself are counted in Quality::own and left out, unless a filter names tasks, or the
  // recorder was told to record itself, or it is asked for.
  bool keep_own = true;
  std::vector<int32_t> asked_for;  // processes that others choose from what is taken

  // Everything but the names, which need the process history.
  bool takes(const Origin& origin) const;
};

// Whether a recorder's command line (`-p 12,13`, `--tid=12`) names this process or thread as what to record.
bool records_process(std::string_view command_line, int32_t pid);

}  // namespace tephra::stream
