#pragma once

#include <string>

#include "base/result.h"
#include "collect/event_attr.h"

namespace tephra::cli {

// What `--call-graph` says, in `record` and `profile`.
inline constexpr const char* kCallGraphHelp =
    "how stacks are taken. auto: the first of these that works; bpf: walked in the\nkernel by call-frame tables, whole "
    "also without frame pointers; fp: by frame\npointers; dwarf[,SIZE]: a copy of the top SIZE bytes of the stack "
    "(8192); lbr: the\nprocessor's record of calls";

// `bpf,check` takes every stack twice, walked and copied, so that the two can be compared.
base::Status set_call_graph(const std::string& text, collect::SampleSettings& sampling);

}  // namespace tephra::cli
