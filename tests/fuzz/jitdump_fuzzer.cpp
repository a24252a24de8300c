#include <cstdlib>
#include <string>

#include "objects/jitdump.h"

using namespace tephra;

// A record without its code reads as the same record.
static void check_stored(const objects::JitdumpRecord& record, bool swapped) {
  std::string stored;
  objects::append_without_code(record, swapped, stored);
  objects::JitdumpReader again(base::as_bytes(stored), swapped);
  objects::JitdumpRecord same;
  if (!again.next(same) || same.kind != record.kind || same.time != record.time || same.name != record.name ||
      same.size != record.size || same.unwinding.size() != record.unwinding.size() ||
      again.position() != stored.size()) {
    std::abort();
  }
}

// Call-frame information is a part of its record, and comes out of what is stored of it.
static void check_frames(const objects::JitdumpRecord& record) {
  const auto frames = objects::JitdumpFrames::of(record);
  if (!frames) return;
  const base::Bytes part = frames->eh_frame();
  if (part.empty() || part.data() < record.bytes.data() ||
      part.data() + part.size() > record.bytes.data() + record.bytes.size()) {
    std::abort();
  }
  (void)frames->address(record.time, record.size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const base::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto header = objects::jitdump_header(bytes);
  if (!header || header->size > size) return 0;
  objects::JitdumpReader reader(bytes.subspan(header->size), header->swapped);
  objects::JitdumpRecord record;
  while (reader.next(record)) {
    objects::JitdumpLines lines(record.lines, record.count, header->swapped);
    for (objects::JitdumpLine line; lines.next(line);) continue;
    check_stored(record, header->swapped);
    check_frames(record);
  }
  return 0;
}
