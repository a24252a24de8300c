#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collect/destination.h"
#include "collect/recorded_events.h"
#include "collect/recorder.h"
#include "collect/recording_output.h"
#include "collect/ring_drain.h"
#include "collect/side_band_keeper.h"

namespace tephra::collect {

// A recording that goes to a file, or one file after the other, or a stream.
class FileDestination : public Destination {
 public:
  static base::Result<std::unique_ptr<FileDestination>> open(const RecordOptions& options, RecordedEvents& recorded,
                                                             FileSections& sections, const Note& note);
  FileDestination(const RecordOptions& options, RecordedEvents& recorded, RecordingOutput output, const Note& note);

  RecordCounts& counts() override { return drain_.counts(); }
  BuildIds& files() override { return drain_.files(); }
  void walk_stacks_with(StackEngine* engine) override { drain_.walk_stacks_with(engine); }
  void collect_from(std::vector<Collector*> collectors) override { drain_.collect_from(std::move(collectors)); }
  void watch_copies_with(CopyWatch* watch) override { drain_.watch_copies_with(watch); }
  base::Status tell_events() override { return output_.describe_events(recorded_.events().file_events()); }
  bool is_pipe() const override { return output_.is_pipe(); }

  base::Status keep(base::Bytes records) override;
  base::Status begin(FileSections& sections) override;
  base::Status publish() override { return output_.publish(); }
  base::Status take_rings() override { return drain_.take_all(); }
  base::Status pass() override { return drain_.pass(); }
  base::Status tell_lost(uint64_t count) override;
  void tick(FileSections& sections) override { reserve_tail(sections); }

  void add_waits(std::vector<pollfd>&) const override {}
  Clock::time_point next_time() const override;
  bool request(const std::string& why) override;
  base::Status make_room(FileSections& sections, bool ending) override;
  base::Status serve(FileSections& sections, bool ending) override;
  bool done() const override { return output_.full(); }
  bool reader_gone() override { return output_.reader_gone(); }
  std::optional<Losses> losses() const override { return Losses{drain_.counts().lost, drain_.late_writes()}; }

  void stop_sampling() override { recorded_.events().disable(); }
  base::Status take_last() override { return drain_.last_pass(); }
  base::Status conclude(FileSections& sections) override;
  std::optional<std::string> last_file() const override { return output_.last_path(); }
  std::string salvage(FileSections& sections) override;
  void report(RecordSummary& summary) const override;
  void report(Progress& progress) const override { progress.bytes = output_.bytes(); }

 private:
  std::vector<Feature> last_features(FileSections& sections) const;
  base::Status finish(FileSections& sections);
  base::Status switch_file(FileSections& sections);
  void reserve_tail(FileSections& sections);
  base::Status tell_last_losses();

  const OutputSettings& settings_;
  RecordedEvents& recorded_;
  Note note_;
  RecordingOutput output_;
  std::optional<SideBandKeeper> keeper_;  // with rotation: what the next file has to begin with
  RingDrain drain_;
  bool switch_now_ = false;
};

}  // namespace tephra::collect
