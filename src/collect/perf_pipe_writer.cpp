#include "collect/perf_pipe_writer.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "collect/parts.h"
#include "kernel/perf_event.h"
#include "stream/perf_file.h"
#include "stream/put.h"

namespace tephra::collect {
namespace {

using stream::put;

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxRecordBytes = (64 << 10) - 8;
// `perf report` refuses a stream with a feature that it does not know.
constexpr int kLastFeatureOfStreams = stream::kFeatureClockData;
constexpr uint64_t kUpdateName = 2;  // PERF_EVENT_UPDATE__NAME

void put_record(std::string& out, uint32_t type, std::string_view body) {
  perf_event_header header{};
  header.type = type;
  header.size = static_cast<uint16_t>(sizeof header + body.size());
  put(out, header);
  out += body;
}

bool fits_a_record(size_t body_bytes) { return body_bytes + sizeof(perf_event_header) <= kMaxRecordBytes; }

base::Status put_event(std::string& out, const FileEvent& event) {
  std::string body(reinterpret_cast<const char*>(&event.attr), kernel::kAttrSize);
  for (const uint64_t id : event.ids) put(body, id);
  if (!fits_a_record(body.size())) {
    return base::failed("cannot describe event in a stream", event.name, "it was opened too many times",
                        "Record into a file.");
  }
  put_record(out, stream::kRecordHeaderAttr, body);
  return {};
}

void put_name(std::string& out, const FileEvent& event) {
  if (event.ids.empty()) return;
  std::string body;
  put(body, kUpdateName);
  put(body, event.ids[0]);
  body += event.name;
  body.resize((body.size() / 8 + 1) * 8);
  if (fits_a_record(body.size())) put_record(out, stream::kRecordEventUpdate, body);
}

// In a stream the text of trace formats follows its record, padded to whole words.
void put_tracing_data(std::string& out, std::string_view text) {
  std::string body;
  put(body, static_cast<uint32_t>((text.size() + 7) / 8 * 8));
  put(body, uint32_t{0});
  put_record(out, stream::kRecordTracingData, body);
  out += text;
  out.append((8 - text.size() % 8) % 8, '\0');
}

// The entries of the section are records without a type.
void put_build_ids(std::string& out, std::string_view section) {
  while (section.size() >= sizeof(perf_event_header)) {
    perf_event_header header{};
    std::memcpy(&header, section.data(), sizeof header);
    if (header.size < sizeof header || header.size > section.size()) return;
    header.type = stream::kRecordBuildId;
    put(out, header);
    out += section.substr(sizeof header, header.size - sizeof header);
    section.remove_prefix(header.size);
  }
}

void put_feature(std::string& out, const Feature& feature) {
  if (feature.bit == stream::kFeatureTracingData) return put_tracing_data(out, feature.content);
  if (feature.bit == stream::kFeatureBuildId) return put_build_ids(out, feature.content);
  if (feature.bit > kLastFeatureOfStreams) return;
  std::string body;
  put(body, static_cast<uint64_t>(feature.bit));
  body += feature.content;
  // Names of events, the one section that may grow beyond a record, are told in records of their own.
  if (fits_a_record(body.size())) put_record(out, stream::kRecordHeaderFeature, body);
}

// A second description of the same pipe that never blocks; ours may be shared with other programs.
base::FileDescriptor open_unblocked(const std::string& path) {
  return base::FileDescriptor(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
}

bool end_is_asked_for() {
  sigset_t waiting;
  ::sigemptyset(&waiting);
  ::sigpending(&waiting);
  return ::sigismember(&waiting, SIGINT) == 1 || ::sigismember(&waiting, SIGTERM) == 1 ||
         ::sigismember(&waiting, SIGHUP) == 1;
}

}  // namespace

base::Result<PerfPipeWriter> PerfPipeWriter::open(const std::string& path, std::span<const FileEvent> events,
                                                  std::span<const Feature> features) {
  PerfPipeWriter writer;
  const bool standard = path == "-";
  writer.name_ = standard ? "standard output" : path;
  struct stat info {};
  if ((standard ? ::fstat(STDOUT_FILENO, &info) : ::stat(path.c_str(), &info)) != 0) {
    return base::system_error("cannot write", writer.name_, errno);
  }
  if (standard && ::isatty(STDOUT_FILENO)) {
    return base::usage_error("cannot write a recording to a terminal", "", "",
                             "Pipe it to a program, for example 'tephra record -o - ... | tephra report -i -'.");
  }
  if (S_ISFIFO(info.st_mode)) writer.fd_ = open_unblocked(standard ? "/proc/self/fd/1" : path);
  if (!writer.fd_ && !standard) {
    return errno == ENXIO ? base::failed("cannot write", path, "nobody reads this pipe", "Start its reader first.")
                          : base::system_error("cannot write", path, errno);
  }
  if (!writer.fd_) {
    writer.fd_.reset(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!writer.fd_) return base::system_error("cannot write", writer.name_, errno);
    if (!S_ISREG(info.st_mode)) writer.most_at_once_ = PIPE_BUF;
  }
  TEPHRA_CHECK_OK(writer.write_start(events, features));
  return writer;
}

base::Status PerfPipeWriter::write_start(std::span<const FileEvent> events, std::span<const Feature> features) {
  std::string out = "PERFILE2";
  put(out, uint64_t{16});
  for (const FileEvent& event : events) TEPHRA_CHECK_OK(put_event(out, event));
  for (const FileEvent& event : events) put_name(out, event);
  for (const Feature& feature : features) put_feature(out, feature);
  TEPHRA_CHECK_OK(append(base::as_bytes(out)));
  round_begin_ = bytes_;
  return {};
}

base::Status PerfPipeWriter::append(std::span<iovec> parts) {
  if (broken_) return base::failed("cannot write", name_, "an earlier write failed");
  parts = skip_front(parts, 0);
  while (!parts.empty() && !gone_) {
    if (!wait_for_room()) break;
    const size_t count = most_at_once_ == SIZE_MAX ? std::min<size_t>(parts.size(), IOV_MAX) : 1;
    const iovec one{parts[0].iov_base, std::min(parts[0].iov_len, most_at_once_)};
    const ssize_t wrote = ::writev(fd_.get(), count > 1 ? parts.data() : &one, static_cast<int>(count));
    if (wrote < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (wrote < 0 && (errno == EPIPE || errno == ECONNRESET)) {
      gone_ = true;
    } else if (wrote < 0) {
      return fail(errno);
    } else {
      bytes_ += static_cast<uint64_t>(wrote);
      parts = skip_front(parts, static_cast<uint64_t>(wrote));
    }
  }
  return {};
}

// Where standard output is a file, it is cut back to the last round.
base::Status PerfPipeWriter::fail(int error_number) {
  broken_ = true;
  const off_t position = ::lseek(fd_.get(), 0, SEEK_CUR);
  const auto unfinished = static_cast<off_t>(bytes_ - round_begin_);
  if (position >= unfinished && ::ftruncate(fd_.get(), position - unfinished) == 0) bytes_ = round_begin_;
  return base::system_error("cannot write", name_, error_number);
}

// False: there will be none.
bool PerfPipeWriter::wait_for_room() {
  constexpr auto kPatience = std::chrono::seconds(1);
  constexpr int kStepMs = 100;
  std::optional<Clock::time_point> asked;
  while (true) {
    pollfd wait{fd_.get(), POLLOUT, 0};
    const int ready = ::poll(&wait, 1, kStepMs);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
    if (!end_is_asked_for()) continue;
    if (!asked) asked = Clock::now();
    if (Clock::now() - *asked >= kPatience) {
      gone_ = true;
      return false;
    }
  }
}

bool PerfPipeWriter::reader_gone() {
  pollfd wait{fd_.get(), 0, 0};
  if (!gone_ && ::poll(&wait, 1, 0) > 0 && (wait.revents & (POLLERR | POLLHUP)) != 0) gone_ = true;
  return gone_;
}

base::Status PerfPipeWriter::end_round() {
  if (bytes_ == round_begin_) return {};
  std::string out;
  put_record(out, stream::kRecordFinishedRound, {});
  TEPHRA_CHECK_OK(append(base::as_bytes(out)));
  round_begin_ = bytes_;
  ++rounds_;
  return {};
}

base::Status PerfPipeWriter::finish(std::span<const Feature> features) {
  std::string out;
  for (const Feature& feature : features) put_feature(out, feature);
  return append(base::as_bytes(out));
}

}  // namespace tephra::collect
