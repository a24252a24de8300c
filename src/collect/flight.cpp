#include "collect/flight.h"

#include <linux/perf_event.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "base/clock.h"
#include "collect/event_attr.h"
#include "collect/features.h"
#include "collect/snapshot.h"
#include "collect/synthesize.h"
#include "kernel/procfs.h"
#include "stream/records.h"

namespace tephra::collect {
namespace {

constexpr std::chrono::hours kNever{24 * 365};
constexpr std::chrono::minutes kRollCall{1};

// The records of one text as what scan_records reads.
kernel::Pending as_pending(const std::string& records) {
  return {{base::as_bytes(records), base::Bytes()}, records.size()};
}

bool is_after(uint64_t time, base::Bytes record, size_t time_offset) {
  return record.size() >= time_offset + 8 && base::load<uint64_t>(record.data() + time_offset) > time;
}

// Adds the samples and losses that are newer.
void count_after(uint64_t time, const std::string& records, RecordCounts& counts) {
  constexpr size_t kLostCount = 16;  // where a LOST record tells it
  constexpr size_t kLeastLost = kLostCount + 8 + sizeof(SampleIdTrailer);
  stream::RecordWalker walker(base::as_bytes(records));
  for (stream::Record record; walker.next(record);) {
    const base::Bytes bytes = record.bytes;
    if (record.type == PERF_RECORD_SAMPLE) {
      counts.samples += is_after(time, bytes, kSampleTimeOffset);
    } else if (record.type == PERF_RECORD_LOST && bytes.size() >= kLeastLost) {
      const size_t time_offset = bytes.size() - sizeof(SampleIdTrailer) + offsetof(SampleIdTrailer, time);
      if (is_after(time, bytes, time_offset)) counts.lost += base::load<uint64_t>(bytes.data() + kLostCount);
    }
  }
}

}  // namespace

base::Result<Flight> Flight::open(const FlightSettings& settings, bool keys, OutputSettings output, EventSet& events) {
  Flight flight(std::move(output), events);
  if (keys) flight.keys_ = std::make_unique<base::KeyReader>(STDIN_FILENO);
  const std::chrono::milliseconds quiet(static_cast<int64_t>(settings.quiet_seconds * 1000));
  for (const std::string& text : settings.triggers) {
    TEPHRA_TRY(auto trigger, parse_trigger(text, quiet));
    flight.triggers_.push_back(std::move(trigger));
  }
  // A place that cannot be written to is told now, not when the moment has passed.
  TEPHRA_TRY(const auto trial, RecordingOutput::create(flight.output_, events.file_events(), {}));
  if (trial.is_pipe()) {
    return base::usage_error("snapshots need a file of their own each", flight.output_.path, "this is a pipe",
                             "Name a file with -o.");
  }
  flight.window_seconds_ = settings.window_seconds;
  flight.next_look_ = flight.next_roll_call_ = Clock::now();
  return flight;
}

base::Status Flight::keep(base::Bytes records) {
  keeper_.take(records);
  return {};
}

void Flight::tell_lost(uint64_t count) {
  counts_.lost += count;
  losses_.add(base::monotonic_ns(), count);
}

base::Status Flight::drain() {
  RingSet& rings = events_->rings();
  const uint64_t lost_before = counts_.lost;
  for (size_t place = 0; place < rings.cpus().size(); ++place) {
    const kernel::Pending pending = rings.ring(place).pending();
    if (pending.size() == 0) continue;
    scan_records(pending, counts_, files_);
    keeper_.take(pending);
    if (engine_ != nullptr) engine_->heard(pending);
    rings.ring(place).release(pending.head);
  }
  keeper_.end_round();
  // Of these records only those about processes are kept.
  losses_.add(base::monotonic_ns(), counts_.lost - lost_before);
  if (engine_ == nullptr) return {};
  const RingSet& kept = *events_->flight_rings();
  std::string fresh;
  engine_->take(fresh);
  walked_.add(std::move(fresh), kept.bytes() * kept.cpus().size());
  return {};
}

void Flight::add_waits(std::vector<pollfd>& waits) const {
  for (const auto& trigger : triggers_) {
    if (trigger->wait_fd() >= 0) waits.push_back({trigger->wait_fd(), POLLIN, 0});
  }
  const int key_fd = keys_ ? keys_->fd() : -1;
  if (key_fd >= 0) waits.push_back({key_fd, POLLIN, 0});
}

Flight::Clock::time_point Flight::next_look() const {
  const bool polls =
      std::any_of(triggers_.begin(), triggers_.end(), [](const auto& trigger) { return trigger->poll_every(); });
  return polls ? next_look_ : Clock::now() + kNever;
}

void Flight::request(std::string why) { requested_ = std::move(why); }

std::optional<std::string> Flight::wanted() {
  while (const char key = keys_ ? keys_->next() : 0) {
    if (key == 's' || key == 'S') request("key s");
  }
  const auto now = Clock::now();
  const bool look = now >= next_look_;
  if (look) next_look_ = now + kNever;
  for (const auto& trigger : triggers_) {
    const auto period = trigger->poll_every();
    if (period && look) next_look_ = std::min(next_look_, now + *period);
    if (period && !look) continue;
    if (auto why = trigger->fired(); why && !requested_) requested_ = std::move(why);
  }
  return std::exchange(requested_, std::nullopt);
}

uint64_t Flight::window_begin() const {
  const uint64_t now = base::monotonic_ns();
  const auto window = static_cast<uint64_t>(window_seconds_ * 1e9);
  return now - std::min(now, window);
}

void Flight::forget_old() {
  keeper_.forget_before(window_begin());
  losses_.forget_before(window_begin());
  const auto now = Clock::now();
  if (now < next_roll_call_) return;
  next_roll_call_ = now + kRollCall;
  keeper_.forget_vanished(kernel::process_exists, base::monotonic_ns());
}

base::Result<std::string> Flight::copy_rings() {
  RingSet& rings = *events_->flight_rings();
  const size_t count = rings.cpus().size();
  for (size_t place = 0; place < count; ++place) kernel::pause_output(rings.fd(place), true);
  kernel::wait_for_writers();
  std::vector<kernel::Pending> held;
  for (size_t place = 0; place < count; ++place) held.push_back(rings.ring(place).snapshot());
  std::string records;
  auto status = write_oldest_first(held, window_begin(), [&](base::Bytes bytes) -> base::Status {
    records += base::as_text(bytes);
    return {};
  });
  for (size_t place = 0; place < count; ++place) kernel::pause_output(rings.fd(place), false);
  if (!status) return std::move(status).error();
  return records;
}

base::Status Flight::write_losses(RecordingOutput& output) {
  losses_.forget_before(window_begin());
  if (losses_.total() == 0) return {};
  Synthesizer rest({events_->side_band_id()}, [&output](base::Bytes bytes) { return output.append(bytes); });
  rest.add_lost(losses_.total(), base::monotonic_ns());
  return rest.flush();
}

base::Result<std::string> Flight::write(const OutputSettings& where, std::span<const Feature> first,
                                        std::span<const Feature> last) {
  TEPHRA_TRY(std::string records, copy_rings());
  // What the samples refer to must be known, so what came meanwhile is taken too.
  TEPHRA_CHECK_OK(drain());
  if (engine_ != nullptr) records = walked_.merged_with(records, window_begin());
  RecordCounts seen;
  scan_records(as_pending(records), seen, files_);

  TEPHRA_TRY(auto output, RecordingOutput::create(where, events_->file_events(), first));
  TEPHRA_CHECK_OK(keeper_.write_to([&](base::Bytes bytes) { return output.append(bytes); }));
  TEPHRA_CHECK_OK(output.end_round());
  if (!records.empty()) {
    iovec part{const_cast<char*>(records.data()), records.size()};
    TEPHRA_TRY([[maybe_unused]] const uint64_t taken, output.append_rings(std::span(&part, 1)));
  }
  TEPHRA_CHECK_OK(write_losses(output));
  TEPHRA_CHECK_OK(output.end_round());
  TEPHRA_CHECK_OK(output.publish());
  std::vector<Feature> features(last.begin(), last.end());
  if (seen.samples > 0) features.push_back(sample_time_feature(seen.first_time, seen.last_time));
  TEPHRA_CHECK_OK(output.finish(features));

  // Snapshots overlap where they follow each other quickly.
  count_after(newest_written_, records, counts_);
  newest_written_ = std::max(newest_written_, seen.last_time);
  counts_.throttled += seen.throttled;
  last_span_ = static_cast<double>(seen.last_time - seen.first_time) / 1e9;
  const OutputTotals totals = output.totals();
  totals_.bytes_written += totals.bytes_written;
  totals_.bytes_kept += totals.bytes_kept;
  totals_.files_kept += totals.files_kept;
  return output.last_path();
}

base::Result<std::string> Flight::write_snapshot(std::span<const Feature> first, std::span<const Feature> last) {
  OutputSettings where = output_;
  where.timestamp_names = true;
  TEPHRA_TRY(std::string path, write(where, first, last));
  snapshots_.push_back(path);
  return path;
}

base::Status Flight::write_last(std::span<const Feature> first, std::span<const Feature> last) {
  TEPHRA_TRY([[maybe_unused]] const std::string path, write(output_, first, last));
  return {};
}

}  // namespace tephra::collect
