#include "collect/flight_destination.h"

#include <fmt/format.h>

#include <utility>

namespace tephra::collect {

base::Result<std::unique_ptr<FlightDestination>> FlightDestination::open(const RecordOptions& options, bool keys,
                                                                         RecordedEvents& recorded, const Note& note) {
  TEPHRA_TRY(auto flight, Flight::open(*options.flight, keys, options.output, recorded.events()));
  return std::make_unique<FlightDestination>(options, keys, recorded, std::move(flight), note);
}

bool FlightDestination::request(const std::string& why) {
  flight_.request(why);
  return true;
}

base::Status FlightDestination::serve(FileSections& sections, bool) {
  const auto why = flight_.wanted();
  if (!why) return {};
  // A disk that is full for a moment must not end the watch.
  const auto path = flight_.write_snapshot(sections.first(), sections.last());
  if (!path) {
    note_(path.error().message());
    return {};
  }
  note_(fmt::format("snapshot of the last {:.1f} s: {} ({})", flight_.last_span(), *path, *why));
  sections.finished(*path);
  return {};
}

bool FlightDestination::done() const {
  const auto& most = options_.flight->max_snapshots;
  return most && flight_.snapshots().size() >= *most;
}

// The end is a snapshot of its own, so that what was running is never lost by stopping; not where all that were wanted
// have been written.
base::Status FlightDestination::conclude(FileSections& sections) {
  if (done()) return {};
  return flight_.write_last(sections.first(), sections.last());
}

std::optional<std::string> FlightDestination::last_file() const {
  if (done()) return {};
  return options_.output.path;
}

void FlightDestination::report(RecordSummary& summary) const {
  summary.snapshots = flight_.snapshots();
  summary.output = flight_.totals();
  summary.path = done() ? flight_.snapshots().back() : options_.output.path;
}

void FlightDestination::report(Progress& progress) const {
  progress.flight = true;
  progress.keys = keys_;
  progress.snapshots = flight_.snapshots().size();
}

}  // namespace tephra::collect
