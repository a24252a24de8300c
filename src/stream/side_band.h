#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/profile_assembler.h"
#include "stream/counter_reads.h"
#include "stream/decoder.h"
#include "stream/process_history.h"
#include "stream/profile_builder.h"
#include "stream/recording.h"

namespace tephra::stream {

// A run of records between two places of one part of a recording, so that runs can be read in parallel.
struct Chunk {
  base::Bytes bytes;
  uint64_t position = 0;  // of its first byte, counted over all parts
  uint64_t samples = 0;
};

// What the first pass over a recording finds: everything but the samples themselves.
struct SideBand {
  std::vector<Chunk> chunks;
  ProcessHistory history;
  model::Quality quality;
  uint64_t samples = 0;
  std::optional<CounterReads> reads;  // where samples carry counter values
  std::shared_ptr<const JitLog> jit;  // what the names in the history's generated code point into
};

// Steps over all records once: collects the chunks, and applies the side-band events in time order to the history.
// Takes done_with and find_jit from `options`.
SideBand read_side_band(const Recording& recording, const Decoder& decoder, model::ProfileAssembler& assembler,
                        const BuildOptions& options = {});

// The moment of a record for ProcessHistory: its time, or its place where the recording has no times.
inline uint64_t moment_of(const Decoder& decoder, uint64_t time, uint64_t position) {
  return decoder.has_time() ? time : position;
}

}  // namespace tephra::stream
