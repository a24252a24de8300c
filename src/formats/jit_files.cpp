#include "formats/jit_files.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "kernel/foreign_file.h"
#include "objects/jitdump.h"

namespace tephra::formats {
namespace {

using stream::JitBatch;

constexpr size_t kMaxFiles = 4096;
constexpr size_t kMaxFileBytes = size_t{256} << 20;
constexpr size_t kMaxBytes = size_t{1} << 30;

bool is_of_this_machine(const stream::Recording& recording) {
  utsname machine{};
  return ::uname(&machine) == 0 && recording.facts.host == machine.nodename;
}

// A file is trusted as far as its owner is: as perf does, but for root, who sees everybody's processes. Whose process
// it was and when it ran, by the time of day, a recording of perf does not tell.
bool may_be_used(const kernel::ForeignFile& file) {
  return file.owner == 0 || ::geteuid() == 0 || file.owner == ::geteuid();
}

class Finder {
 public:
  Finder(const std::string& folder, bool jitdump_clock) : folder_(folder), jitdump_clock_(jitdump_clock) {}

  void look(const stream::JitTrace& trace) {
    if (files_.size() >= kMaxFiles) return;
    if (trace.jitdump.empty()) {
      read(folder_ + "/perf-" + std::to_string(trace.pid) + ".map", trace, JitBatch::Kind::kPerfMap);
    } else {
      read(trace.jitdump, trace, JitBatch::Kind::kJitdump);
    }
  }

  std::shared_ptr<const stream::JitLog> take() && {
    if (files_.empty()) return nullptr;
    auto log = std::make_shared<stream::JitLog>();
    log->content = std::move(content_);
    for (const Piece& file : files_) {
      log->batches.push_back(file.batch);
      log->batches.back().content = base::as_bytes(log->content).subspan(file.begin, file.size);
    }
    return log;
  }

 private:
  struct Piece {
    JitBatch batch;
    size_t begin = 0;
    size_t size = 0;
  };

  void read(const std::string& path, const stream::JitTrace& trace, JitBatch::Kind kind) {
    const auto file = kernel::open_foreign_file(path);
    if (!file || !may_be_used(*file)) return;
    const size_t begin = content_.size();
    const size_t size = std::min<uint64_t>({file->size, kMaxFileBytes, kMaxBytes - begin});
    if (!kernel::append_from(*file, 0, size, content_)) return content_.resize(begin);
    Piece piece{.begin = begin};
    piece.batch.kind = kind;
    piece.batch.pid = trace.pid;
    piece.batch.source = static_cast<uint32_t>(files_.size());
    piece.batch.unproven = true;
    // What was told last holds: as perf has it, since nothing says when it was told.
    piece.batch.earliest = piece.batch.latest = trace.since;
    if (kind == JitBatch::Kind::kJitdump && !read_header(piece, trace)) return content_.resize(begin);
    piece.size = content_.size() - piece.begin;
    files_.push_back(piece);
  }

  bool read_header(Piece& piece, const stream::JitTrace& trace) const {
    const auto header = objects::jitdump_header(base::as_bytes(content_).subspan(piece.begin));
    if (!header || header->size > content_.size() - piece.begin) return false;
    piece.begin += header->size;
    const bool same_clock = jitdump_clock_ && !header->cpu_time;
    // A later process may have the same number, and the same place for its file. The header has a time too, but V8
    // writes the time of day there.
    objects::JitdumpReader records(base::as_bytes(content_).subspan(piece.begin), header->swapped);
    objects::JitdumpRecord first;
    if (same_clock && trace.until != 0 && records.next(first) && first.time > trace.until) return false;
    piece.batch.swapped = header->swapped;
    piece.batch.other_clock = header->cpu_time;
    // The recording itself names the file and the process that had it open; only times tell that it is that process's.
    piece.batch.unproven = header->pid != piece.batch.pid || !same_clock;
    return true;
  }

  std::string folder_;
  bool jitdump_clock_;
  std::string content_;
  std::vector<Piece> files_;
};

}  // namespace

std::shared_ptr<const stream::JitLog> find_jit_files(const stream::Recording& recording,
                                                     const std::vector<stream::JitTrace>& traces,
                                                     const std::string& folder) {
  if (!is_of_this_machine(recording)) return nullptr;
  Finder finder(folder, recording.facts.clock == "CLOCK_MONOTONIC");
  for (const stream::JitTrace& trace : traces) finder.look(trace);
  return std::move(finder).take();
}

}  // namespace tephra::formats
