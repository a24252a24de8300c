#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "stream/recording.h"

namespace tephra::views {

// What `tephra script` prints of a sample, as bits.
enum ScriptField : uint32_t {
  kFieldComm = 1 << 0,
  kFieldTid = 1 << 1,
  kFieldPid = 1 << 2,
  kFieldTime = 1 << 3,
  kFieldCpu = 1 << 4,
  kFieldEvent = 1 << 5,
  kFieldTrace = 1 << 6,
  kFieldIp = 1 << 7,
  kFieldSym = 1 << 8,
  kFieldDso = 1 << 9,
  kFieldSymoff = 1 << 10,
  kFieldSrcline = 1 << 11,
  kFieldPeriod = 1 << 12,
};

// The fields of each event of the recording. `specifications` are perf's, one for each -F: "comm,tid,time,ip,sym" sets
// them, "+pid,-period" changes the defaults, "trace:time,event,trace" is for one type of event (hw, sw, trace, raw).
// The defaults are perf's; those the recording does not hold are left out, and asking for one is an error.
base::Result<std::vector<uint32_t>> select_script_fields(const stream::Recording& recording,
                                                         const std::vector<std::string>& specifications,
                                                         bool call_chains);

}  // namespace tephra::views
