#include "collect/jit_file.h"

#include <algorithm>

#include "base/clock.h"
#include "objects/jitdump.h"

namespace tephra::collect {
namespace {

using Kind = stream::JitBatch::Kind;

constexpr uint64_t kMaxFile = uint64_t{256} << 20;
constexpr size_t kTail = 256;
// A line or a record that does not end within this is none.
constexpr size_t kMaxUnit = 4 << 20;
constexpr size_t kHeaderRead = 4096;
// What is found new at so many looks in a row is what a file begins with.
constexpr int kFirstContents = 2;

bool may_belong_to(const kernel::ForeignFile& file, const kernel::ProcessRoot& root) {
  return file.owner == root.user || file.owner == 0;
}

}  // namespace

bool JitFile::open(const kernel::ProcessRoot& root, int64_t not_before) {
  if (file_ && kernel::refresh(*file_)) {
    const auto at_path = kernel::open_foreign_file(path_, root.folder.get());
    if (!at_path || (at_path->inode == file_->inode && at_path->device == file_->device)) return true;
  }
  file_ = kernel::open_foreign_file(path_, root.folder.get());
  begin_again();
  if (file_ && may_belong_to(*file_, root) && file_->changed_ns >= not_before) return true;
  file_.reset();
  return false;
}

void JitFile::begin_again() {
  offset_ = 0;
  tail_.clear();
  goal_ = 0;
  changed_ns_ = 0;
  more_ = false;
}

bool JitFile::was_rewritten() const {
  if (file_->size < offset_) return true;
  std::string now;
  return !kernel::append_from(*file_, offset_ - tail_.size(), tail_.size(), now) || now != tail_;
}

bool JitFile::read_header(const kernel::ProcessRoot& root) {
  std::string bytes;
  if (!kernel::append_from(*file_, 0, kHeaderRead, bytes)) return false;
  const auto header = objects::jitdump_header(base::as_bytes(bytes));
  if (!header) {
    given_up_ = bytes.size() == kHeaderRead;
    return false;
  }
  swapped_ = header->swapped;
  other_clock_ = header->cpu_time;
  other_process_ = header->pid != root.inner_pid;
  offset_ = header->size;
  return true;
}

bool JitFile::begin_look(const kernel::ProcessRoot& root, uint64_t now) {
  const bool rewritten = was_rewritten();
  // The rest of what was there at an earlier look: its time is known better than that of what has come since.
  if (more_ && !rewritten) return true;
  const uint64_t last_look = std::exchange(last_look_, now);
  if (!rewritten && file_->size == goal_ && file_->changed_ns == changed_ns_) {
    if (contents_ > 0) contents_ = kFirstContents + 1;
    return false;
  }
  if (rewritten) begin_again();
  goal_ = file_->size;
  changed_ns_ = file_->changed_ns;
  if (kind_ == Kind::kJitdump && offset_ == 0 && !read_header(root)) return false;
  // In a jitdump each record has its time. What is told first of all may have run since the process began: there are
  // runtimes that write their map when they end, and a look may come while they do.
  if (file_->size > 0 && contents_ <= kFirstContents) ++contents_;
  const bool whole_life = kind_ == Kind::kJitdump || (contents_ <= kFirstContents && !rewritten);
  earliest_ = whole_life ? from_ : rewritten || snapshots_ ? last_change_ : last_look;
  return true;
}

base::Result<JitFile::Look> JitFile::look(const kernel::ProcessRoot& root, int32_t pid, int64_t not_before, size_t most,
                                          const Sink& sink) {
  const uint64_t now = base::monotonic_ns();
  if (given_up_ || !open(root, not_before)) {
    last_look_ = now;
    return Look{};
  }
  if (!begin_look(root, now)) return Look{};
  stream::JitBatch batch{.kind = kind_, .pid = pid, .source = source_, .unproven = other_process_, .swapped = swapped_};
  batch.other_clock = other_clock_;
  TEPHRA_TRY(const Look done, read_on(batch, most, sink));
  // More is coming of the same content; what was told before is still what was true until now.
  if (offset_ >= goal_ || !snapshots_) last_change_ = last_look_;
  return done;
}

base::Result<JitFile::Look> JitFile::read_on(stream::JitBatch batch, size_t most, const Sink& sink) {
  const uint64_t before = offset_;
  const uint64_t end = std::min(goal_, kMaxFile);
  const uint64_t left = end - std::min(end, before);
  std::string text;
  if (!kernel::append_from(*file_, before, std::min<uint64_t>(left, most), text)) {
    if (!more_) goal_ = 0;  // it is new to the next look, too
    return Look{};
  }
  batch.earliest = earliest_;
  batch.latest = base::monotonic_ns();
  TEPHRA_CHECK_OK(kind_ == Kind::kPerfMap ? hand_on_lines(text, batch, sink) : hand_on_records(text, batch, sink));
  const size_t taken = offset_ - before;
  if (taken > 0) tail_ = text.substr(taken - std::min(taken, kTail), std::min(taken, kTail));
  more_ = !given_up_ && left > most;
  // What is unfinished at the limit stays so.
  if (goal_ > kMaxFile && !more_) given_up_ = cut_ = true;
  return Look{taken, more_};
}

base::Status JitFile::hand_on_lines(std::string_view text, stream::JitBatch batch, const Sink& sink) {
  const size_t end = text.rfind('\n');
  if (end == std::string_view::npos) {
    if (text.size() >= kMaxUnit) offset_ += text.size();
    return {};
  }
  batch.content = base::as_bytes(text.substr(0, end + 1));
  offset_ += end + 1;
  return sink(batch);
}

base::Status JitFile::hand_on_records(std::string_view text, stream::JitBatch batch, const Sink& sink) {
  objects::JitdumpReader reader(base::as_bytes(text), swapped_);
  objects::JitdumpRecord record;
  std::string records;
  while (reader.next(record)) objects::append_without_code(record, swapped_, records);
  offset_ += reader.position();
  given_up_ = cut_ = reader.damaged() || (reader.position() == 0 && text.size() >= kMaxUnit);
  if (records.empty()) return {};
  batch.content = base::as_bytes(records);
  return sink(batch);
}

}  // namespace tephra::collect
