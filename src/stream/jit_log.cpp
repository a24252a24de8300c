#include "stream/jit_log.h"

#include <algorithm>

#include "stream/checksum.h"

namespace tephra::stream {
namespace {

constexpr std::string_view kMagic{"TPHJIT\0\2", 8};
constexpr size_t kHeaderBytes = kMagic.size() + sizeof(uint64_t);  // how many batches there are
constexpr int kLevel = 3;
// What names may come to; a recorder stops before that.
constexpr size_t kMaxContent = size_t{1} << 30;
// What a section may come to for its size: a Java process that writes the same map every minute packs very well.
constexpr size_t kMostRatio = 512;
constexpr size_t kSmallContent = 1 << 20;
constexpr uint64_t kRowsOfByte = 8;
constexpr uint64_t kFewRows = 200'000;

enum Flag : uint32_t { kUnproven = 1, kSwapped = 2, kOtherClock = 4 };

struct Head {
  uint32_t kind;
  int32_t pid;
  uint32_t source;
  uint32_t flags;
  uint64_t earliest;
  uint64_t latest;
  uint64_t size;
  uint64_t checksum;
};
static_assert(sizeof(Head) == 48);

uint64_t checksum_of(Head head, base::Bytes content) {
  head.checksum = 0;
  Checksum sum;
  sum.add(std::as_bytes(std::span(&head, 1)));
  sum.add(content);
  return sum.value();
}

uint32_t flags_of(const JitBatch& batch) {
  return (batch.unproven ? kUnproven : 0u) | (batch.swapped ? kSwapped : 0u) | (batch.other_clock ? kOtherClock : 0u);
}

bool is_known(uint32_t kind) {
  return kind == static_cast<uint32_t>(JitBatch::Kind::kPerfMap) ||
         kind == static_cast<uint32_t>(JitBatch::Kind::kJitdump) ||
         kind == static_cast<uint32_t>(JitBatch::Kind::kLeftOut) ||
         kind == static_cast<uint32_t>(JitBatch::Kind::kNotWatched);
}

}  // namespace

JitLogWriter::JitLogWriter() : compressor_(kLevel) {}

base::Status JitLogWriter::add(const JitBatch& batch) {
  Head head{static_cast<uint32_t>(batch.kind),
            batch.pid,
            batch.source,
            flags_of(batch),
            batch.earliest,
            batch.latest,
            batch.content.size(),
            0};
  head.checksum = checksum_of(head, batch.content);
  ++batches_;
  TEPHRA_CHECK_OK(compressor_.compress(std::as_bytes(std::span(&head, 1)), packed_));
  return compressor_.compress(batch.content, packed_);
}

base::Result<std::string> JitLogWriter::section() {
  TEPHRA_CHECK_OK(compressor_.flush(packed_));
  std::string out(kMagic);
  out.append(reinterpret_cast<const char*>(&batches_), sizeof batches_);
  return out + packed_;
}

JitLog read_jit_log(base::Bytes section) {
  JitLog log;
  if (section.size() < kHeaderBytes || !base::as_text(section).starts_with(kMagic)) {
    log.damaged = !section.empty();
    return log;
  }
  const auto stated = base::load<uint64_t>(section.data() + kMagic.size());
  base::ZstdDecompressor decompressor;
  // Of a damaged stream what was unpacked before the damage is good.
  const size_t limit = std::min(kMaxContent, section.size() * kMostRatio + kSmallContent);
  log.most_rows = section.size() * kRowsOfByte + kFewRows;
  log.damaged = !decompressor.decompress(section.subspan(kHeaderBytes), log.content, limit);
  base::ByteReader reader(base::as_bytes(log.content));
  uint64_t batches = 0;
  for (; !reader.at_end(); ++batches) {
    const auto head = reader.read<Head>();
    const base::Bytes content = reader.bytes(reader.ok() ? head.size : 0);
    if (!reader.ok() || checksum_of(head, content) != head.checksum) {
      log.damaged = true;
      break;
    }
    if (!is_known(head.kind)) continue;
    log.batches.push_back({static_cast<JitBatch::Kind>(head.kind), head.pid, head.source, (head.flags & kUnproven) != 0,
                           (head.flags & kSwapped) != 0, (head.flags & kOtherClock) != 0, head.earliest, head.latest,
                           content});
  }
  // A stream that was cut off looks like one that goes on later.
  if (batches != stated) log.damaged = true;
  return log;
}

}  // namespace tephra::stream
