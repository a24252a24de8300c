#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/profile.h"
#include "stream/event.h"
#include "stream/jit_traces.h"
#include "stream/recording.h"
#include "stream/sample_filter.h"
#include "stream/sample_reading.h"
#include "stream/unwinder.h"

namespace tephra::stream {

struct BuildOptions {
  SampleFilter filter;
  bool keep_cpu = false;           // split rows by CPU
  uint64_t time_step = 0;          // not 0: split rows by steps of so many nanoseconds; times are where steps begin
  bool keep_every_sample = false;  // one row a sample, in time order, with time and CPU
  ReadingOptions reading;
  bool stitch_branches = false;  // lengthen full branch records by those of the thread's sample before
  Unwinder* unwinder = nullptr;  // for copies of user stacks; null: they are counted and not unwound
  // Called with each part of the records whenever a pass over it ends, so that a mapped file need not stay in memory.
  // The bytes must stay readable.
  std::function<void(base::Bytes)> done_with;
  // Called, from several threads, with parts of the records that will all be read and stay in memory.
  std::function<void(base::Bytes)> will_read;
  // Finds the names of generated code for a recording that has none stored; may be empty.
  JitFinder find_jit;
};

// Reads all samples into a profile of addresses (no names yet). Runs in parallel; the result does not depend on how
// many threads there are.
model::Profile build_profile(const Recording& recording, const BuildOptions& options);

// Calls visit for every sample that passes the filter, in time order (ties in file order): the rows of a profile built
// with keep_every_sample, one by one.
void for_each_sample(const Recording& recording, const SampleFilter& filter,
                     const std::function<void(const Sample&)>& visit);

}  // namespace tephra::stream
