#include "collect/perf_data_writer.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "collect/parts.h"
#include "kernel/perf_event.h"
#include "stream/perf_file.h"
#include "stream/put.h"

namespace tephra::collect {
namespace {

using formats::FileHeader;
using formats::put_events;
using stream::put;

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string advice_for(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return "Free some space, or write elsewhere with -o FILE.";
    case EFBIG:
      return "Raise the limit on file sizes ('ulimit -f'), or record in several files.";
    case EMFILE:
      return "Raise the limit: ulimit -n 4096.";
    default:
      return "";
  }
}

}  // namespace

base::Result<PerfDataWriter> PerfDataWriter::create(const std::string& path, std::span<const FileEvent> events,
                                                    std::span<const Feature> features) {
  PerfDataWriter writer;
  writer.path_ = path;
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) return base::system_error("cannot write", path, EISDIR);
    writer.regular_ = false;
    // Without O_NONBLOCK a FIFO that nobody reads would hold us here.
    writer.fd_.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
    if (writer.fd_ && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode))) {
      return base::failed("cannot write", path, "a recording needs a file, this is a pipe");
    }
  } else {
    writer.fd_.reset(::open(folder_of(path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!writer.fd_ && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
      writer.temporary_ = fmt::format("{}.tmp-{}", path, ::getpid());
      writer.fd_.reset(::open(writer.temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    }
  }
  if (!writer.fd_) {
    const int why = errno;
    return base::system_error("cannot write", path, why,
                              why == EMFILE ? advice_for(why) : "Choose another place with -o FILE.");
  }
  TEPHRA_CHECK_OK(writer.write_start(events, features));
  return writer;
}

PerfDataWriter::~PerfDataWriter() {
  if (fd_ && !published_ && !temporary_.empty()) ::unlink(temporary_.c_str());
}

base::Status PerfDataWriter::write_start(std::span<const FileEvent> events, std::span<const Feature> features) {
  std::string out(sizeof(FileHeader), '\0');
  attrs_ = put_events(out, 0, events);
  for (const Feature& feature : features) {
    sections_[feature.bit] = {out.size(), feature.content.size()};
    out += feature.content;
    out.resize((out.size() + 7) / 8 * 8);
  }
  data_offset_ = out.size();
  out += table();
  FileHeader header;
  header.attrs = attrs_;
  header.data = {data_offset_, 0};
  std::memcpy(out.data(), &header, sizeof header);
  TEPHRA_CHECK_OK(append(base::as_bytes(out)));
  committed_ = end_;
  committed_attrs_ = attrs_;
  // The first round puts the data size and the feature bits into the header.
  return {};
}

// Each entry is the place of one section, in bit order; see the class for the first.
std::string PerfDataWriter::table() const {
  std::string out;
  perf_event_header record{};
  record.type = stream::kRecordHeaderEventType;
  record.size = static_cast<uint16_t>((sections_.size() + 1) * sizeof(FileSection));
  put(out, record);
  put(out, uint64_t{0});
  for (const auto& [bit, section] : sections_) {
    put(out, section.offset);
    put(out, section.size);
  }
  return out;
}

base::Status PerfDataWriter::append(std::span<iovec> parts) {
  if (broken_) return base::failed("cannot write", path_, "an earlier write failed");
  return write_parts(parts);
}

base::Status PerfDataWriter::write_parts(std::span<iovec> parts) {
  parts = skip_front(parts, 0);
  while (!parts.empty()) {
    const auto count = static_cast<int>(std::min<size_t>(parts.size(), IOV_MAX));
    const ssize_t wrote = ::pwritev(fd_.get(), parts.data(), count, static_cast<off_t>(end_));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return fail(wrote < 0 ? errno : ENOSPC);
    end_ += static_cast<uint64_t>(wrote);
    parts = skip_front(parts, static_cast<uint64_t>(wrote));
  }
  return {};
}

base::Status PerfDataWriter::fail(int error_number) {
  broken_ = true;
  end_ = committed_;
  attrs_ = committed_attrs_;
  if (regular_ && ::ftruncate(fd_.get(), static_cast<off_t>(committed_)) != 0) {
    // What lies behind the last round is not part of the file for any reader.
  }
  return base::system_error("cannot write", path_, error_number, advice_for(error_number));
}

base::Status PerfDataWriter::end_round() {
  if (end_ == committed_) return {};
  perf_event_header round{};
  round.type = stream::kRecordFinishedRound;
  round.size = sizeof round;
  std::string record;
  put(record, round);
  TEPHRA_CHECK_OK(commit(record, {}));
  ++rounds_;
  return {};
}

base::Status PerfDataWriter::commit(std::string_view last_record, std::string_view tail) {
  const uint64_t data_end = end_ + last_record.size();
  std::string out(last_record);
  out += table();
  out += tail;
  iovec part{out.data(), out.size()};
  TEPHRA_CHECK_OK(write_parts(std::span(&part, 1)));
  FileHeader header;
  header.attrs = attrs_;
  header.data = {data_offset_, data_end - data_offset_};
  header.features[0] = 1;
  for (const auto& [bit, section] : sections_) header.features[bit / 64] |= uint64_t{1} << (bit % 64);
  constexpr size_t kChanging = offsetof(FileHeader, attrs);
  const auto* from = reinterpret_cast<const char*>(&header) + kChanging;
  const size_t size = sizeof header - kChanging;
  // One write within one page: it is seen whole or not at all.
  if (::pwrite(fd_.get(), from, size, kChanging) != static_cast<ssize_t>(size)) return fail(errno);
  committed_ = end_;
  committed_attrs_ = attrs_;
  return {};
}

base::Status PerfDataWriter::publish() {
  if (published_ || !regular_) {
    published_ = true;
    return {};
  }
  struct stat info {};
  if (::lstat(path_.c_str(), &info) == 0) {
    if (::rename(path_.c_str(), (path_ + ".old").c_str()) != 0) {
      return base::system_error("cannot rename the earlier recording", path_, errno);
    }
    replaced_ = true;
  }
  const int result = temporary_.empty() ? ::linkat(AT_FDCWD, fmt::format("/proc/self/fd/{}", fd_.get()).c_str(),
                                                   AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW)
                                        : ::rename(temporary_.c_str(), path_.c_str());
  if (result != 0) {
    const int why = errno;
    if (replaced_) ::rename((path_ + ".old").c_str(), path_.c_str());
    replaced_ = false;
    return base::system_error("cannot write", path_, why, "Choose another place with -o FILE.");
  }
  published_ = true;
  return {};
}

base::Status PerfDataWriter::finish(std::span<const Feature> features) {
  const auto earlier = sections_;
  const FileSection earlier_attrs = attrs_;
  for (const Feature& feature : features) sections_[feature.bit] = {};
  const uint64_t tail_offset = end_ + table().size();
  std::string tail;
  for (const Feature& feature : features) {
    sections_[feature.bit] = {tail_offset + tail.size(), feature.content.size()};
    tail += feature.content;
    tail.resize((tail.size() + 7) / 8 * 8);
  }
  if (!last_events_.empty()) attrs_ = put_events(tail, tail_offset, last_events_);
  auto status = commit({}, tail);
  if (!status) sections_ = earlier, attrs_ = earlier_attrs;
  return status;
}

// In a record of the type of the tables, which readers skip; the header points into it.
base::Status PerfDataWriter::describe_events(std::span<const FileEvent> events) {
  std::string content;
  const FileSection attrs = put_events(content, end_ + sizeof(perf_event_header), events);
  if (content.size() + sizeof(perf_event_header) > UINT16_MAX) return {};
  perf_event_header header{};
  header.type = stream::kRecordHeaderEventType;
  header.size = static_cast<uint16_t>(sizeof header + content.size());
  std::string record;
  put(record, header);
  record += content;
  TEPHRA_CHECK_OK(append(base::as_bytes(record)));
  attrs_ = attrs;
  return {};
}

base::Result<bool> PerfDataWriter::rename_to(const std::string& path) {
  int result = ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE);
  // Some file systems cannot rename with a condition.
  if (result != 0 && (errno == EINVAL || errno == ENOSYS)) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) == 0) return false;
    result = ::rename(path_.c_str(), path.c_str());
  }
  if (result != 0 && errno == EEXIST) return false;
  if (result != 0) return base::system_error("cannot rename the recording to", path, errno);
  path_ = path;
  replaced_ = false;  // the earlier file keeps the name .old: its own may be in use again
  return true;
}

void PerfDataWriter::discard() {
  if (published_ && regular_) ::unlink(path_.c_str());
  if (replaced_) ::rename((path_ + ".old").c_str(), path_.c_str());
  if (!temporary_.empty() && !published_) ::unlink(temporary_.c_str());
  published_ = false;
  replaced_ = false;
  temporary_.clear();
  broken_ = true;
}

}  // namespace tephra::collect
