#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "collect/collector.h"
#include "collect/copy_watch.h"
#include "collect/event_set.h"
#include "collect/features.h"
#include "collect/recording_output.h"
#include "collect/ring_scan.h"
#include "collect/side_band_keeper.h"
#include "collect/stack_engine.h"

namespace tephra::collect {

// Moves what waits in the rings to the output, and reacts before records are lost: a ring that is nearly full when we
// come is exchanged for a larger one.
class RingDrain {
 public:
  // `may_grow`: the user did not set the size of the rings. `note` is told once when a ring cannot grow any more, and
  // once when records were lost.
  RingDrain(EventSet& events, RecordingOutput& output, bool may_grow, Note note);

  // Also hands records about processes to `keeper`, for files that begin later.
  void keep_side_band(SideBandKeeper* keeper) { keeper_ = keeper; }
  // Also takes the samples that `engine` has walked, and tells it about processes.
  void walk_stacks_with(StackEngine* engine) { engine_ = engine; }

  // Also takes the samples that are collected.
  void collect_from(std::vector<Collector*> collectors) { collectors_ = std::move(collectors); }
  // Also lets `watch` look at copies of stacks.
  void watch_copies_with(CopyWatch* watch) { copies_ = watch; }

  // One pass over all rings, then the end of a round: readers sort what lies between two ends of rounds, and rely on no
  // ring having been skipped.
  base::Status pass();
  // The same when nothing more will come.
  base::Status last_pass();
  // The rings alone, without the end of a round.
  base::Status take_all();
  // Whether a sample waits to be taken.
  bool sample_waits();

  RecordCounts& counts() { return counts_; }
  const RecordCounts& counts() const { return counts_; }
  BuildIds& files() { return files_; }
  const BuildIds& files() const { return files_; }

  // Times a write took so long that the rings could have filled meanwhile.
  uint64_t late_writes() const { return late_writes_; }
  uint64_t rings_grown() const { return rings_grown_; }
  // Samples for which the size limit left no room.
  uint64_t beyond_limit() const { return beyond_limit_; }

 private:
  base::Status take(kernel::RingBuffer& ring);
  void take_made();
  base::Status flush();
  base::Status grow_full_rings();
  void drop_empty_retired();
  void warn_of_losses();

  EventSet& events_;
  RecordingOutput& output_;
  bool may_grow_;
  SideBandKeeper* keeper_ = nullptr;
  StackEngine* engine_ = nullptr;
  std::vector<Collector*> collectors_;
  CopyWatch* copies_ = nullptr;
  Note note_;
  RecordCounts counts_;
  BuildIds files_;
  // What is to be written, and what may be released after.
  std::vector<iovec> batch_;
  std::vector<std::pair<kernel::RingBuffer*, uint64_t>> batch_rings_;
  size_t batch_bytes_ = 0;
  std::string made_;                 // samples that were not in a ring of perf's; part of the batch
  std::vector<size_t> nearly_full_;  // places
  uint64_t late_writes_ = 0;
  uint64_t rings_grown_ = 0;
  uint64_t beyond_limit_ = 0;
  bool warned_full_ = false;
  bool warned_lost_ = false;
};

}  // namespace tephra::collect
