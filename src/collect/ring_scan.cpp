#include "collect/ring_scan.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <vector>

#include "collect/event_attr.h"

namespace tephra::collect {
namespace {

constexpr uint16_t kMiscBuildId = 1 << 14;
constexpr size_t kMaxFiles = 20'000;
// Of an MMAP2 record, from its start.
constexpr size_t kIdSizeOffset = 40;
constexpr size_t kIdOffset = 44;
constexpr size_t kPathOffset = 72;

// A record, which may be split where the ring ends; valid until the next.
class RecordCopy {
 public:
  base::Bytes of(const kernel::Pending& pending, size_t offset, size_t size) {
    bytes_.resize(size);
    pending.copy(offset, bytes_.data(), size);
    return bytes_;
  }

 private:
  std::vector<std::byte> bytes_;
};

void note_build_id(base::Bytes bytes, BuildIds& files) {
  if (bytes.size() <= kPathOffset || files.size() >= kMaxFiles) return;
  const auto id_size = std::min<size_t>(std::to_integer<size_t>(bytes[kIdSizeOffset]), 20);
  const model::BuildId id(bytes.subspan(kIdOffset, id_size));
  const auto path = base::until_nul(bytes.subspan(kPathOffset));
  const auto known = files.find(path);
  if (known == files.end())
    files.emplace(path, id);
  else if (known->second != id)
    known->second = id;
}

void note_jit_sign(const kernel::Pending& pending, size_t offset, size_t size, RecordCounts& counts) {
  std::vector<std::byte> record(size);
  pending.copy(offset, record.data(), size);
  if (auto sign = read_jit_sign(record)) counts.jit_signs.push_back(std::move(*sign));
}

void note_times(const kernel::Pending& pending, size_t first, size_t last, RecordCounts& counts) {
  const uint64_t begin = pending.word(first + kSampleTimeOffset);
  counts.first_time = counts.first_time == 0 ? begin : std::min(counts.first_time, begin);
  counts.last_time = std::max(counts.last_time, pending.word(last + kSampleTimeOffset));
}

}  // namespace

void scan_records(const kernel::Pending& pending, RecordCounts& counts, BuildIds& files) {
  RecordCopy copy;
  constexpr size_t kNone = SIZE_MAX;
  size_t first_sample = kNone;
  size_t last_sample = kNone;
  // What is no whole record cannot be; the bytes are stored all the same.
  for (size_t offset = 0, size = 0; (size = pending.record_size(offset)) > 0; offset += size) {
    const uint64_t header = pending.word(offset);
    const auto type = static_cast<uint32_t>(header);
    const auto misc = static_cast<uint16_t>(header >> 32);
    if (counts.want_jit_signs && may_be_jit_sign(type)) note_jit_sign(pending, offset, size, counts);
    if (type == PERF_RECORD_SAMPLE) {
      ++counts.samples;
      if (first_sample == kNone) first_sample = offset;
      last_sample = offset;
    } else if (type == PERF_RECORD_MMAP2) {
      const base::Bytes record = copy.of(pending, offset, size);
      if (misc & kMiscBuildId) note_build_id(record, files);
      if (counts.on_mapping) counts.on_mapping(record);
    } else if (type == PERF_RECORD_LOST) {
      counts.lost += pending.word(offset + 16);
    } else if (type == PERF_RECORD_LOST_SAMPLES) {
      counts.lost += pending.word(offset + 8);
    } else if (type == PERF_RECORD_THROTTLE) {
      ++counts.throttled;
    } else if (type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT) {
      if (counts.on_mapping && type == PERF_RECORD_FORK) counts.on_mapping(copy.of(pending, offset, size));
      if (!counts.want_tasks) continue;
      const auto pid = static_cast<pid_t>(pending.word(offset + 8));
      const uint64_t tids = pending.word(offset + 16);
      const TaskIds task{pid, static_cast<pid_t>(tids), static_cast<pid_t>(tids >> 32), pending.word(offset + 24)};
      (type == PERF_RECORD_FORK ? counts.born : counts.ended).push_back(task);
    }
  }
  if (first_sample != kNone) note_times(pending, first_sample, last_sample, counts);
}

}  // namespace tephra::collect
