// links: tephra_core
// Writes an existing recording anew through collect::RecordingOutput, record by record and round by round as a recorder
// would, so that perf can compare both: write_recording INPUT OUTPUT [KEY=VALUE...]
//   level, max_size, rotate, max_files, timestamp=1: as the options of `record`
//   kill_round=N: kills itself without warning in the middle of round N
//   repeat=N: writes the records of INPUT so many times
//   group=1: makes the sections about the machine and the events anew, with all events in one group
//   pause_ms=N: waits so long after each round
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <thread>

#include "base/file.h"
#include "base/units.h"
#include "collect/features.h"
#include "collect/recording_output.h"
#include "formats/perf_data.h"
#include "kernel/perf_event.h"
#include "stream/perf_file.h"
#include "stream/records.h"

namespace {

using namespace tephra;

[[noreturn]] void give_up(const base::Error& error) {
  fmt::print(stderr, "write_recording: {}\n", error.message());
  ::exit(1);
}

void check(base::Status status) {
  if (!status) give_up(status.error());
}

// A perf.data file in its parts.
struct Input {
  std::vector<collect::FileEvent> events;
  std::vector<collect::Feature> start_features;
  std::vector<collect::Feature> end_features;
  base::Bytes data;
};

Input read_input(base::Bytes file) {
  const auto recording = formats::kPerfData.open(file);
  if (!recording) give_up(recording.error());
  const auto word = [&](size_t at) { return base::load<uint64_t>(file.data() + at); };
  Input input;
  const uint64_t entry_size = word(16), attrs = word(24), attrs_size = word(32), data = word(40), data_size = word(48);
  for (uint64_t at = attrs; at < attrs + attrs_size; at += entry_size) {
    collect::FileEvent event;
    std::memcpy(&event.attr, file.data() + at, kernel::kAttrSize);
    event.attr.size = kernel::kAttrSize;
    event.name = recording->events[input.events.size()].name;
    event.ids = recording->events[input.events.size()].ids;
    input.events.push_back(std::move(event));
  }
  input.data = file.subspan(data, data_size);
  size_t entry = data + data_size;
  for (int bit = 0; bit < 256; ++bit) {
    if ((word(72 + static_cast<size_t>(bit) / 64 * 8) >> (bit % 64) & 1) == 0) continue;
    collect::Feature feature{bit, std::string(base::as_text(file.subspan(word(entry), word(entry + 8))))};
    entry += 16;
    const bool late = bit == stream::kFeatureBuildId || bit == stream::kFeatureSampleTime;
    if (bit != 0) (late ? input.end_features : input.start_features).push_back(std::move(feature));
  }
  return input;
}

class Replay {
 public:
  Replay(Input input, std::map<std::string, std::string> options)
      : input_(std::move(input)), options_(std::move(options)) {
    if (!has("group")) return;
    const std::string words[] = {"write_recording"};
    for (auto& event : input_.events) event.group = 0;
    input_.start_features = collect::start_features(input_.events, words, true);
  }

  int run(const std::string& path) {
    auto made = collect::RecordingOutput::create(settings(path), input_.events, input_.start_features);
    if (!made) give_up(made.error());
    output_.emplace(std::move(*made));
    output_->reserve_tail(tail_bytes());
    check(output_->end_round());
    check(output_->publish());
    auto status = write_all();
    if (status && output_->bytes() > 0) status = output_->finish(features_at_end());
    if (!status) {
      const bool kept = output_->salvage(features_at_end());
      fmt::print(stderr, "error={}\nkept={}\n", status.error().message(), kept);
    }
    tell();
    return status ? 0 : 1;
  }

 private:
  bool has(const char* key) const { return options_.contains(key); }
  uint64_t number(const char* key, uint64_t otherwise) const {
    return has(key) ? std::stoull(options_.at(key)) : otherwise;
  }
  uint64_t tail_bytes() const {
    uint64_t bytes = 0;
    for (const auto& feature : features_at_end()) bytes += feature.content.size() + 24;
    return bytes;
  }

  collect::OutputSettings settings(const std::string& path) const {
    collect::OutputSettings settings;
    settings.path = path;
    if (has("level")) settings.compression_level = std::stoi(options_.at("level"));
    if (has("max_size")) settings.max_bytes = *base::parse_size(options_.at("max_size"));
    if (has("rotate")) settings.rotation = *collect::parse_rotation(options_.at("rotate"));
    if (has("max_files")) settings.max_files = number("max_files", 0);
    settings.timestamp_names = has("timestamp");
    return settings;
  }

  std::vector<collect::Feature> features_at_end() const {
    auto features = input_.end_features;
    stream::RecorderFacts facts;
    facts.recorder_pid = ::getpid();
    facts.engine = "replay";
    features.push_back(collect::recorder_facts_feature(facts));
    return features;
  }

  base::Status write_all() {
    for (uint64_t time = 0; time < number("repeat", 1) && !output_->ended(); ++time) {
      stream::RecordWalker walker(input_.data);
      for (stream::Record record; walker.next(record) && !output_->ended();) TEPHRA_CHECK_OK(take(record));
      TEPHRA_CHECK_OK(end_round());
    }
    return {};
  }

  base::Status take(const stream::Record& record) {
    const auto text = base::as_text(record.bytes);
    switch (record.type) {
      case stream::kRecordFinishedRound:
        return end_round();
      case stream::kRecordHeaderEventType:
      case stream::kRecordFinishedInit:
        return {};
      default:
        break;
    }
    if (record.type >= stream::kRecordHeaderAttr) return output_->append(record.bytes);
    pending_ += text;
    if (record.type != PERF_RECORD_SAMPLE) side_band_ += text;
    return {};
  }

  base::Status end_round() {
    // In two parts, as bytes that wrap around the end of a ring are; a record may lie across.
    const size_t cut = pending_.size() / 16 * 8;
    iovec parts[] = {{pending_.data(), cut}, {pending_.data() + cut, pending_.size() - cut}};
    TEPHRA_TRY(const uint64_t taken, output_->append_rings(parts));
    if (taken != pending_.size() && !output_->full()) return base::failed("bytes were left without being full");
    pending_.clear();
    if (++round_ == number("kill_round", 0)) ::kill(::getpid(), SIGKILL);
    TEPHRA_CHECK_OK(output_->end_round());
    std::this_thread::sleep_for(std::chrono::milliseconds(number("pause_ms", 0)));
    if (!output_->full() && output_->reached_size()) return rotate();
    return {};
  }

  base::Status rotate() {
    TEPHRA_CHECK_OK(output_->finish(features_at_end()));
    TEPHRA_CHECK_OK(output_->begin_next(input_.events, input_.start_features));
    TEPHRA_CHECK_OK(output_->append(base::as_bytes(side_band_)));
    TEPHRA_CHECK_OK(output_->end_round());
    return output_->publish();
  }

  void tell() {
    const auto totals = output_->totals();
    fmt::print(stderr, "files_kept={}\nfiles_deleted={}\nbytes_kept={}\nbytes_written={}\n", totals.files_kept,
               totals.files_deleted, totals.bytes_kept, totals.bytes_written);
    fmt::print(stderr, "ring_bytes={}\npacked_bytes={}\nfull={}\nreader_gone={}\nlast={}\n", totals.ring_bytes,
               totals.packed_bytes, output_->full(), output_->reader_gone(), output_->last_path());
  }

  Input input_;
  std::map<std::string, std::string> options_;
  std::optional<collect::RecordingOutput> output_;
  std::string pending_;
  std::string side_band_;
  uint64_t round_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::map<std::string, std::string> options;
  for (int i = 3; i < argc; ++i) {
    const std::string word = argv[i];
    options[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  }
  auto file = base::FileContent::open(argv[1]);
  if (!file) give_up(file.error());
  return Replay(read_input(file->bytes()), options).run(argv[2]);
}
