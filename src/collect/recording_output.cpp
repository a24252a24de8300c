#include "collect/recording_output.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "base/units.h"
#include "collect/parts.h"
#include "collect/perf_data_writer.h"
#include "collect/perf_pipe_writer.h"

namespace tephra::collect {
namespace {

// What a file needs beside the ring bytes and the tail: ends of rounds, a table, a record about losses.
constexpr uint64_t kSlackBytes = 2048;
// A file with less room than this is full.
constexpr uint64_t kLeastRoom = 4096;

// YYYYMMDDhhmmsscc in local time, as perf names files.
std::string timestamp(int64_t centiseconds) {
  const time_t seconds = centiseconds / 100;
  tm local{};
  ::localtime_r(&seconds, &local);
  return fmt::format("{:04}{:02}{:02}{:02}{:02}{:02}{:02}", local.tm_year + 1900, local.tm_mon + 1, local.tm_mday,
                     local.tm_hour, local.tm_min, local.tm_sec, centiseconds % 100);
}

int64_t centiseconds_now() {
  timeval now{};
  ::gettimeofday(&now, nullptr);
  return int64_t{now.tv_sec} * 100 + now.tv_usec / 10'000;
}

}  // namespace

bool is_stream(const std::string& path) {
  struct stat info {};
  return path == "-" || (::stat(path.c_str(), &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)));
}

// Ignores signals that a failed write would kill us with, as long as it lives.
class RecordingOutput::SignalGuard {
 public:
  explicit SignalGuard(std::initializer_list<int> signals) {
    for (const int signal : signals) {
      struct sigaction ignore {};
      ignore.sa_handler = SIG_IGN;
      Saved saved{signal, {}};
      if (::sigaction(signal, &ignore, &saved.action) == 0) saved_.push_back(saved);
    }
  }
  ~SignalGuard() {
    for (const Saved& saved : saved_) ::sigaction(saved.signal, &saved.action, nullptr);
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  struct Saved {
    int signal;
    struct sigaction action;
  };
  std::vector<Saved> saved_;
};

base::Result<Rotation> parse_rotation(std::string_view text) {
  Rotation rotation;
  if (text.empty() || text == "signal") {
    rotation.on_signal = true;
  } else if (const auto bytes = base::parse_size(text); bytes && *bytes > 0) {
    rotation.bytes = *bytes;
  } else if (const auto seconds = base::parse_duration(text)) {
    rotation.seconds = *seconds;
  } else {
    return base::usage_error("cannot tell when to switch the output", std::string(text), "",
                             "Write 'signal', a size (100M) or a time (30s).");
  }
  return rotation;
}

RecordingOutput::RecordingOutput(OutputSettings settings)
    : settings_(std::move(settings)), last_path_(settings_.path) {}
RecordingOutput::RecordingOutput(RecordingOutput&&) noexcept = default;
RecordingOutput& RecordingOutput::operator=(RecordingOutput&&) noexcept = default;
RecordingOutput::~RecordingOutput() = default;

base::Result<RecordingOutput> RecordingOutput::create(OutputSettings settings, std::span<const FileEvent> events,
                                                      std::span<const Feature> features) {
  const bool stream = is_stream(settings.path);
  if (stream && (settings.rotation || settings.timestamp_names)) {
    return base::usage_error("cannot write several files or names", settings.path, "it is a pipe",
                             "Write to a file with -o FILE.");
  }
  const int level = settings.compression_level.value_or(0);
  if (level != 0 && (level < kLowestCompressionLevel || level > kHighestCompressionLevel)) {
    return base::usage_error("no such compression level", std::to_string(level), "",
                             fmt::format("Levels are {} to {}.", kLowestCompressionLevel, kHighestCompressionLevel));
  }
  RecordingOutput output(std::move(settings));
  output.signals_ = stream ? std::make_unique<SignalGuard>(std::initializer_list<int>{SIGXFSZ, SIGPIPE})
                           : std::make_unique<SignalGuard>(std::initializer_list<int>{SIGXFSZ});
  TEPHRA_CHECK_OK(output.begin(events, features));
  if (output.room() < kLeastRoom) {
    return base::usage_error("the size limit is too small", base::bytes_text(*output.settings_.max_bytes),
                             "nothing would fit behind the description of the events", "Set a larger one.");
  }
  return output;
}

base::Status RecordingOutput::begin(std::span<const FileEvent> events, std::span<const Feature> features) {
  if (const int level = settings_.compression_level.value_or(0); level != 0) packer_.emplace(level);
  const auto all = with_compression(features);
  ring_bytes_ = whole_rings_ = 0;
  begun_ = Clock::now();
  if (!is_stream(settings_.path)) return begin_file(events, all);
  TEPHRA_TRY(auto pipe, PerfPipeWriter::open(settings_.path, events, all));
  pipe_ = std::make_unique<PerfPipeWriter>(std::move(pipe));
  return {};
}

base::Status RecordingOutput::begin_file(std::span<const FileEvent> events, std::span<const Feature> features) {
  TEPHRA_TRY(auto file, PerfDataWriter::create(settings_.path, events, features));
  if (!file.is_file() && (settings_.rotation || settings_.timestamp_names)) {
    return base::usage_error("cannot write several files or names", settings_.path, "it is a device",
                             "Write to a file with -o FILE.");
  }
  file_ = std::make_unique<PerfDataWriter>(std::move(file));
  return {};
}

std::vector<Feature> RecordingOutput::with_compression(std::span<const Feature> features) const {
  std::vector<Feature> all(features.begin(), features.end());
  if (packer_) all.push_back(packer_->feature());
  return all;
}

RecordWriter* RecordingOutput::writer() const {
  if (pipe_) return pipe_.get();
  return file_.get();
}

base::Status RecordingOutput::append(base::Bytes records) {
  iovec part{const_cast<std::byte*>(records.data()), records.size()};
  return write(std::span(&part, 1));
}

base::Status RecordingOutput::write(std::span<iovec> parts) {
  if (writer() == nullptr) return base::failed("cannot write", settings_.path, "the recording has ended");
  return writer()->append(parts);
}

uint64_t RecordingOutput::kept_bytes() const {
  uint64_t bytes = writer() == nullptr ? 0 : writer()->bytes();
  for (const FinishedFile& file : finished_) bytes += file.bytes;
  return bytes;
}

uint64_t RecordingOutput::room() const {
  if (!settings_.max_bytes) return UINT64_MAX;
  const uint64_t used = kept_bytes() + tail_bytes_ + kSlackBytes;
  return *settings_.max_bytes - std::min(*settings_.max_bytes, used);
}

uint64_t RecordingOutput::fitting(std::span<const iovec> parts) const {
  const uint64_t all = total_bytes(parts);
  const uint64_t left = room();
  if ((packer_ ? RecordPacker::packed_bound(all) : all) <= left) return all;
  if (left < kLeastRoom) return 0;
  const uint64_t overhead = packer_ ? RecordPacker::packed_bound(left) - left : 0;
  return whole_records_within(parts, left - std::min(left, overhead));
}

base::Result<uint64_t> RecordingOutput::append_rings(std::span<iovec> parts) {
  uint64_t taken = 0;
  parts = skip_front(parts, 0);
  while (!parts.empty()) {
    // Compressed bytes take less room than they might, so that after them there may be room for more.
    const uint64_t count = fitting(parts);
    if (count == 0) break;
    auto front = first_bytes(parts, count);
    if (packer_) {
      packed_.clear();
      TEPHRA_CHECK_OK(packer_->pack(front, packed_));
      TEPHRA_CHECK_OK(append(base::as_bytes(packed_)));
    } else {
      TEPHRA_CHECK_OK(write(front));
    }
    taken += count;
    ring_bytes_ += count;
    parts = skip_front(parts, count);
  }
  full_ = full_ || !parts.empty() || room() < kLeastRoom;
  return taken;
}

base::Status RecordingOutput::end_round() {
  if (writer() == nullptr) return {};
  TEPHRA_CHECK_OK(writer()->end_round());
  whole_rings_ = ring_bytes_;
  return {};
}

base::Status RecordingOutput::publish() { return file_ ? file_->publish() : base::Status(); }

bool RecordingOutput::reached_size() const {
  // A limit below the size of the first records must not make files without a sample for ever.
  return settings_.rotation && settings_.rotation->bytes && file_ && whole_rings_ > 0 &&
         file_->bytes() >= *settings_.rotation->bytes;
}

std::optional<RecordingOutput::Clock::time_point> RecordingOutput::rotation_time() const {
  if (!settings_.rotation || !settings_.rotation->seconds) return std::nullopt;
  // A century from now is as good as any later time, and fits the clock.
  const double seconds = std::min(*settings_.rotation->seconds, 3e9);
  return begun_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

bool RecordingOutput::reader_gone() { return pipe_ && pipe_->reader_gone(); }

void RecordingOutput::replace_events(std::vector<FileEvent> events) {
  if (file_) file_->replace_events(std::move(events));
}

base::Status RecordingOutput::describe_events(const std::vector<FileEvent>& events) {
  return file_ ? file_->describe_events(events) : base::Status();
}

base::Status RecordingOutput::finish(std::span<const Feature> features) {
  if (pipe_) return pipe_->finish(features);
  if (!file_) return {};
  TEPHRA_CHECK_OK(file_->finish(with_compression(features)));
  TEPHRA_CHECK_OK(name_finished());
  if (settings_.rotation && settings_.max_files.value_or(0) > 0) delete_oldest();
  return {};
}

base::Status RecordingOutput::begin_next(std::span<const FileEvent> events, std::span<const Feature> features) {
  return begin(events, features);
}

// Counts the current file as finished, under the name it is to keep.
base::Status RecordingOutput::name_finished() {
  TEPHRA_CHECK_OK(file_->publish());
  last_path_ = settings_.path;
  if (settings_.rotation || settings_.timestamp_names) {
    // A name that is taken, or that a file deleted since had, is passed over, so that names sort by age.
    for (bool named = false; !named;) {
      last_time_ = std::max(centiseconds_now(), last_time_ + 1);
      last_path_ = settings_.path + "." + timestamp(last_time_);
      TEPHRA_TRY(named, file_->rename_to(last_path_));
    }
  }
  finished_.push_back({last_path_, file_->bytes()});
  forget_current();
  return {};
}

void RecordingOutput::keep_under_first_name() {
  if (!file_->published()) return discard();
  last_path_ = settings_.path;
  finished_.push_back({last_path_, file_->bytes()});
  forget_current();
}

void RecordingOutput::delete_oldest() {
  while (finished_.size() > *settings_.max_files) {
    if (::unlink(finished_.front().path.c_str()) == 0) ++past_.files_deleted;
    finished_.pop_front();
  }
}

void RecordingOutput::forget_current() {
  past_.bytes_written += file_->bytes();
  past_.rounds += file_->rounds();
  past_.ring_bytes += ring_bytes_;
  past_.packed_bytes += packer_ ? packer_->bytes_out() : ring_bytes_;
  ring_bytes_ = whole_rings_ = 0;
  packer_.reset();
  file_.reset();
}

bool RecordingOutput::salvage(std::span<const Feature> features) {
  if (pipe_) return true;
  if (file_ && whole_rings_ == 0) discard();
  if (file_) {
    ring_bytes_ = whole_rings_;
    // Where there is no room for them, the file is still whole without them.
    (void)file_->finish(with_compression(features)).ok();
    if (!name_finished()) keep_under_first_name();
  }
  return !finished_.empty();
}

void RecordingOutput::discard() {
  if (!file_) return;
  file_->discard();
  ring_bytes_ = whole_rings_ = 0;
  packer_.reset();
  file_.reset();
}

uint64_t RecordingOutput::bytes() const { return writer() == nullptr ? 0 : writer()->bytes(); }
uint64_t RecordingOutput::rounds() const { return writer() == nullptr ? 0 : writer()->rounds(); }

OutputTotals RecordingOutput::totals() const {
  OutputTotals totals = past_;
  totals.bytes_kept = kept_bytes();
  totals.files_kept = finished_.size();
  if (writer() == nullptr) return totals;
  ++totals.files_kept;
  totals.bytes_written += writer()->bytes();
  totals.rounds += writer()->rounds();
  totals.ring_bytes += ring_bytes_;
  totals.packed_bytes += packer_ ? packer_->bytes_out() : ring_bytes_;
  return totals;
}

std::vector<std::string> RecordingOutput::finished_paths() const {
  std::vector<std::string> paths;
  for (const FinishedFile& file : finished_) paths.push_back(file.path);
  return paths;
}

}  // namespace tephra::collect
