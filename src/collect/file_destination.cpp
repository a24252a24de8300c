#include "collect/file_destination.h"

#include <fmt/format.h>

#include <utility>

#include "collect/synthesize.h"

namespace tephra::collect {

FileDestination::FileDestination(const RecordOptions& options, RecordedEvents& recorded, RecordingOutput output,
                                 const Note& note)
    : settings_(options.output),
      recorded_(recorded),
      note_(note),
      output_(std::move(output)),
      drain_(recorded.events(), output_, !options.ring_bytes, note) {
  if (output_.rotates()) drain_.keep_side_band(&keeper_.emplace());
}

base::Result<std::unique_ptr<FileDestination>> FileDestination::open(const RecordOptions& options,
                                                                     RecordedEvents& recorded, FileSections& sections,
                                                                     const Note& note) {
  TEPHRA_TRY(auto output, RecordingOutput::create(options.output, recorded.events().file_events(), sections.first()));
  return std::make_unique<FileDestination>(options, recorded, std::move(output), note);
}

base::Status FileDestination::keep(base::Bytes records) {
  if (keeper_) keeper_->take(records);
  return output_.append(records);
}

base::Status FileDestination::begin(FileSections& sections) {
  reserve_tail(sections);
  return output_.end_round();
}

base::Status FileDestination::tell_lost(uint64_t count) {
  RecordCounts& seen = counts();
  seen.lost += count;
  Synthesizer rest(recorded_.synthesis(), [this](base::Bytes bytes) { return output_.append(bytes); });
  rest.add_lost(count, seen.last_time);
  return rest.flush();
}

FileDestination::Clock::time_point FileDestination::next_time() const {
  return output_.rotation_time().value_or(Clock::time_point::max());
}

bool FileDestination::request(const std::string&) {
  switch_now_ = output_.rotates();
  return switch_now_;
}

base::Status FileDestination::make_room(FileSections& sections, bool ending) {
  return ending || !output_.reached_size() || !drain_.sample_waits() ? base::Status() : switch_file(sections);
}

base::Status FileDestination::serve(FileSections& sections, bool ending) {
  const auto time = output_.rotation_time();
  if (ending || !(switch_now_ || (time && Clock::now() >= *time))) return {};
  switch_now_ = false;
  return switch_file(sections);
}

base::Status FileDestination::switch_file(FileSections& sections) {
  TEPHRA_CHECK_OK(finish(sections));
  note_("switched to a new file; the last is " + output_.last_path());
  sections.finished(output_.last_path());
  sections.next_begins();
  const uint64_t last_time = std::exchange(counts().last_time, 0);
  counts().first_time = 0;
  TEPHRA_CHECK_OK(output_.begin_next(recorded_.events().file_events(), sections.first()));
  // Samples that come now may be of processes that have ended since, so the file begins with all that was told.
  keeper_->forget_before(last_time);
  TEPHRA_CHECK_OK(keeper_->write_to([this](base::Bytes bytes) { return output_.append(bytes); }));
  TEPHRA_CHECK_OK(begin(sections));
  return output_.publish();
}

std::vector<Feature> FileDestination::last_features(FileSections& sections) const {
  std::vector<Feature> features = sections.last();
  const RecordCounts& seen = drain_.counts();
  if (seen.samples > 0) features.push_back(sample_time_feature(seen.first_time, seen.last_time));
  return features;
}

base::Status FileDestination::finish(FileSections& sections) {
  // Tasks that were attached meanwhile, and what was opened anew, have events with ids of their own.
  if (recorded_.scans() || recorded_.copies_changed()) output_.replace_events(recorded_.events().file_events());
  return output_.finish(last_features(sections));
}

// The size limit must leave room for what is written last.
void FileDestination::reserve_tail(FileSections& sections) {
  if (!settings_.max_bytes) return;
  uint64_t tail = sections.names_room();
  for (const Feature& feature : last_features(sections)) tail += feature.content.size() + 8;
  for (const FileEvent& event : recorded_.events().file_events()) {
    tail += event.ids.size() * 8 + 2 * kernel::kAttrSize;
  }
  output_.reserve_tail(tail);
}

// The kernel reports a loss with the next record that finds room. The last losses have no next record.
base::Status FileDestination::tell_last_losses() {
  const uint64_t total = recorded_.events().lost() + recorded_.walks_lost();
  if (total > counts().lost) TEPHRA_CHECK_OK(tell_lost(total - counts().lost));
  return output_.end_round();
}

base::Status FileDestination::conclude(FileSections& sections) {
  TEPHRA_CHECK_OK(tell_last_losses());
  return finish(sections);
}

std::string FileDestination::salvage(FileSections& sections) {
  if (!output_.salvage(last_features(sections))) return "Nothing was recorded.";
  return fmt::format("The recording up to then is kept ({} bytes).", output_.totals().bytes_kept);
}

void FileDestination::report(RecordSummary& summary) const {
  summary.late_writes = drain_.late_writes();
  summary.rings_grown = drain_.rings_grown();
  summary.beyond_limit = drain_.beyond_limit();
  summary.output = output_.totals();
  summary.full = output_.full();
  summary.path = output_.last_path();
}

}  // namespace tephra::collect
