#include "stream/jit_log.h"

#include <algorithm>

namespace tephra::stream {
namespace {

constexpr std::string_view kMagic{"TPHJIT\0\1", 8};
constexpr int kLevel = 3;
// What names may come to; a recorder stops before that.
constexpr size_t kMaxContent = size_t{1} << 30;

enum Flag : uint32_t { kUnproven = 1, kSwapped = 2, kOtherClock = 4 };

struct Head {
  uint32_t kind;
  int32_t pid;
  uint32_t source;
  uint32_t flags;
  uint64_t earliest;
  uint64_t latest;
  uint64_t size;
};

uint32_t flags_of(const JitBatch& batch) {
  return (batch.unproven ? kUnproven : 0u) | (batch.swapped ? kSwapped : 0u) | (batch.other_clock ? kOtherClock : 0u);
}

bool is_known(uint32_t kind) {
  return kind == static_cast<uint32_t>(JitBatch::Kind::kPerfMap) ||
         kind == static_cast<uint32_t>(JitBatch::Kind::kJitdump) ||
         kind == static_cast<uint32_t>(JitBatch::Kind::kLeftOut);
}

}  // namespace

JitLogWriter::JitLogWriter() : compressor_(kLevel), packed_(kMagic) {}

base::Status JitLogWriter::add(const JitBatch& batch) {
  const Head head{static_cast<uint32_t>(batch.kind),
                  batch.pid,
                  batch.source,
                  flags_of(batch),
                  batch.earliest,
                  batch.latest,
                  batch.content.size()};
  ++batches_;
  TEPHRA_CHECK_OK(compressor_.compress(std::as_bytes(std::span(&head, 1)), packed_));
  return compressor_.compress(batch.content, packed_);
}

base::Result<std::string> JitLogWriter::section() {
  TEPHRA_CHECK_OK(compressor_.flush(packed_));
  return packed_;
}

JitLog read_jit_log(base::Bytes section) {
  JitLog log;
  if (!base::as_text(section).starts_with(kMagic)) {
    log.damaged = !section.empty();
    return log;
  }
  base::ZstdDecompressor decompressor;
  // Of a damaged stream what came before the damage is good.
  const size_t limit = std::min(kMaxContent, section.size() * 256 + (size_t{64} << 20));
  log.damaged = !decompressor.decompress(section.subspan(kMagic.size()), log.content, limit);
  base::ByteReader reader(base::as_bytes(log.content));
  while (!reader.at_end()) {
    const auto head = reader.read<Head>();
    const base::Bytes content = reader.bytes(reader.ok() ? head.size : 0);
    if (!reader.ok()) {
      log.damaged = true;
      break;
    }
    if (!is_known(head.kind)) continue;
    log.batches.push_back({static_cast<JitBatch::Kind>(head.kind), head.pid, head.source, (head.flags & kUnproven) != 0,
                           (head.flags & kSwapped) != 0, (head.flags & kOtherClock) != 0, head.earliest, head.latest,
                           content});
  }
  return log;
}

}  // namespace tephra::stream
