#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collect/destination.h"
#include "collect/flight.h"
#include "collect/recorded_events.h"
#include "collect/recorder.h"

namespace tephra::collect {

// A recording that keeps the newest records in memory and writes snapshots of them.
class FlightDestination : public Destination {
 public:
  // `keys`: the key s on a terminal takes a snapshot.
  static base::Result<std::unique_ptr<FlightDestination>> open(const RecordOptions& options, bool keys,
                                                               RecordedEvents& recorded, const Note& note);
  FlightDestination(const RecordOptions& options, bool keys, RecordedEvents& recorded, Flight flight, const Note& note)
      : options_(options), keys_(keys), recorded_(recorded), flight_(std::move(flight)), note_(note) {}

  RecordCounts& counts() override { return flight_.counts(); }
  BuildIds& files() override { return flight_.files(); }
  void walk_stacks_with(StackEngine* engine) override { flight_.walk_stacks_with(engine); }
  bool is_pipe() const override { return false; }

  base::Status keep(base::Bytes records) override { return flight_.keep(records); }
  base::Status begin(FileSections&) override { return {}; }
  base::Status publish() override { return {}; }
  base::Status take_rings() override { return flight_.drain(); }
  base::Status pass() override { return flight_.drain(); }
  base::Status tell_lost(uint64_t count) override {
    flight_.tell_lost(count);
    return {};
  }
  void tick(FileSections&) override { flight_.forget_old(); }

  void add_waits(std::vector<pollfd>& waits) const override { flight_.add_waits(waits); }
  Clock::time_point next_time() const override { return flight_.next_look(); }
  bool request(const std::string& why) override;
  base::Status serve(FileSections& sections, bool ending) override;
  bool done() const override;
  bool reader_gone() override { return false; }
  std::optional<Losses> losses() const override { return {}; }

  void stop_sampling() override { recorded_.events().pause(); }
  base::Status take_last() override { return flight_.drain(); }
  base::Status conclude(FileSections& sections) override;
  std::optional<std::string> last_file() const override;
  std::string salvage(FileSections&) override { return {}; }
  void report(RecordSummary& summary) const override;
  void report(Progress& progress) const override;

 private:
  const RecordOptions& options_;
  bool keys_;
  RecordedEvents& recorded_;
  Flight flight_;
  Note note_;
};

}  // namespace tephra::collect
