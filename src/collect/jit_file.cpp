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

base::Result<size_t> JitFile::look(const kernel::ProcessRoot& root, int32_t pid, int64_t not_before, size_t most,
                                   const Sink& sink) {
  const uint64_t now = base::monotonic_ns();
  const uint64_t last_look = std::exchange(last_look_, now);
  if (given_up_ || !open(root, not_before)) return size_t{0};
  if (file_->size == offset_ && file_->changed_ns == changed_ns_) return size_t{0};
  const bool rewritten = was_rewritten();
  if (rewritten) begin_again();
  changed_ns_ = file_->changed_ns;
  if (kind_ == Kind::kJitdump && offset_ == 0 && !read_header(root)) return size_t{0};
  std::string text;
  const uint64_t end = std::min(file_->size, kMaxFile);
  const size_t wanted = std::min<uint64_t>(end - std::min(end, offset_), most);
  if (wanted == 0) {
    given_up_ = offset_ >= kMaxFile;
    return size_t{0};
  }
  if (!kernel::append_from(*file_, offset_, wanted, text)) return size_t{0};
  stream::JitBatch batch{.kind = kind_, .pid = pid, .source = source_, .unproven = other_process_, .swapped = swapped_};
  batch.other_clock = other_clock_;
  // In a jitdump each record has its time.
  batch.earliest = kind_ == Kind::kJitdump ? from_ : rewritten || snapshots_ ? last_change_ : last_look;
  batch.latest = base::monotonic_ns();
  const uint64_t before = offset_;
  TEPHRA_CHECK_OK(kind_ == Kind::kPerfMap ? hand_on_lines(text, batch, sink) : hand_on_records(text, batch, sink));
  const size_t taken = offset_ - before;
  const size_t seen = std::min(taken, text.size());
  tail_ = text.substr(seen - std::min(seen, kTail), std::min(seen, kTail));
  // More is coming of the same content; what was told before is still what was true until now.
  if (offset_ >= file_->size || !snapshots_) last_change_ = now;
  if (taken < text.size()) changed_ns_ = 0;
  return text.size();
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
  given_up_ = reader.damaged() || (reader.position() == 0 && text.size() >= kMaxUnit);
  if (records.empty()) return {};
  batch.content = base::as_bytes(records);
  return sink(batch);
}

}  // namespace tephra::collect
