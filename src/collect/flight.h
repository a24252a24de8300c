#pragma once

#include <poll.h>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/key_reader.h"
#include "base/result.h"
#include "collect/event_set.h"
#include "collect/recent_losses.h"
#include "collect/recording_output.h"
#include "collect/ring_scan.h"
#include "collect/side_band_keeper.h"
#include "collect/stack_engine.h"
#include "collect/trigger.h"
#include "collect/walked_samples.h"

namespace tephra::collect {

// Rings that keep the newest records; a snapshot of them is written when something asks for it: SIGUSR2, the key s, the
// control command, or a trigger.
struct FlightSettings {
  std::vector<std::string> triggers;    // for example "runqlat>10ms"
  double quiet_seconds = 5;             // after a trigger has fired, how long it does not
  std::optional<size_t> max_snapshots;  // then the recording ends
  double window_seconds = 60;  // what is older is not in a snapshot: the ring of an idle CPU may reach far back
};

// The flight recorder: samples stay in rings that overwrite themselves, records about processes are kept as long as
// they matter, and a snapshot makes a whole recording of both.
class Flight {
 public:
  using Clock = std::chrono::steady_clock;

  // `output` says where snapshots go: PATH.TIMESTAMP each, and PATH for the last.
  // `keys`: the key s on a terminal asks for a snapshot.
  static base::Result<Flight> open(const FlightSettings& settings, bool keys, OutputSettings output, EventSet& events);

  // Also takes the samples that `engine` has walked, and tells it about processes.
  void walk_stacks_with(StackEngine* engine) { engine_ = engine; }

  // A record about processes of our own making.
  base::Status keep(base::Bytes records);
  // Moves records about processes from their rings.
  base::Status drain();
  // Samples were lost on a way that leaves no record about it.
  void tell_lost(uint64_t count);
  // Forgets what no snapshot can refer to any more. To be called about once a second.
  void forget_old();

  void add_waits(std::vector<pollfd>& waits) const;
  // When a trigger wants to look next.
  Clock::time_point next_look() const;

  // Asks for a snapshot; `why` is for the message.
  void request(std::string why);
  // Why a snapshot is wanted, if one is. Looks at the triggers.
  std::optional<std::string> wanted();

  // Writes what the rings hold; the file's path. `first` and `last` are the sections of its beginning and end.
  base::Result<std::string> write_snapshot(std::span<const Feature> first, std::span<const Feature> last);
  // The same under the plain path, at the end.
  base::Status write_last(std::span<const Feature> first, std::span<const Feature> last);

  const std::vector<std::string>& snapshots() const { return snapshots_; }
  // Seconds from the first to the last sample of the snapshot written last.
  double last_span() const { return last_span_; }
  // Samples of all snapshots, each once, and what the rings about processes told.
  RecordCounts& counts() { return counts_; }
  const RecordCounts& counts() const { return counts_; }
  const OutputTotals& totals() const { return totals_; }
  // The code objects that were mapped meanwhile.
  BuildIds& files() { return files_; }
  const BuildIds& files() const { return files_; }

 private:
  Flight(OutputSettings output, EventSet& events) : output_(std::move(output)), events_(&events) {}
  // What the rings hold within the window, oldest first.
  base::Result<std::string> copy_rings();
  uint64_t window_begin() const;
  base::Status write_losses(RecordingOutput& output);
  base::Result<std::string> write(const OutputSettings& where, std::span<const Feature> first,
                                  std::span<const Feature> last);

  OutputSettings output_;
  EventSet* events_;
  StackEngine* engine_ = nullptr;
  WalkedSamples walked_;
  SideBandKeeper keeper_;
  std::vector<std::unique_ptr<Trigger>> triggers_;
  std::unique_ptr<base::KeyReader> keys_;
  double window_seconds_ = 0;
  Clock::time_point next_look_;
  Clock::time_point next_roll_call_;
  std::optional<std::string> requested_;
  std::vector<std::string> snapshots_;
  RecordCounts counts_;
  RecentLosses losses_;  // that no record in the rings tells
  BuildIds files_;
  uint64_t newest_written_ = 0;  // time of a sample
  OutputTotals totals_;
  double last_span_ = 0;
};

}  // namespace tephra::collect
