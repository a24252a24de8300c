#pragma once

#include "base/bytes.h"
#include "stream/recording.h"

namespace tephra::formats {

// What Android's simpleperf adds to perf.data. Each reads one feature section into the recording; false: it is broken,
// and what was read before the damage counts.

// Symbol tables, one file after the other.
bool read_simpleperf_files(base::Bytes section, stream::Recording& recording);
// The same as protocol buffers (FileFeature of simpleperf's record_file.proto), each behind its length.
bool read_simpleperf_file_messages(base::Bytes section, stream::Recording& recording);
// Pairs of texts, among them the names of the events.
bool read_simpleperf_meta(base::Bytes section, stream::Recording& recording);

}  // namespace tephra::formats
