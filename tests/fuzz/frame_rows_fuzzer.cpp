#include <elf.h>

#include <cstdlib>
#include <vector>

#include "objects/frame_rows.h"
#include "unwind/compiled_table.h"

using namespace tephra;

static void check(objects::FrameRows rows) {
  if (rows.described_bytes < rows.rows / 2 || rows.unsupported_rows > rows.rows) std::abort();
  const unwind::CompiledTable compiled(std::move(rows));
  const unwind::FrameTable& table = compiled.table();
  uint32_t before = 0;
  for (uint64_t row = 0; row < table.blocks.size() * TEPHRA_FRAME_BLOCK_ROWS; ++row) {
    const auto& block = table.blocks[row / TEPHRA_FRAME_BLOCK_ROWS];
    const size_t place = row % TEPHRA_FRAME_BLOCK_ROWS;
    if (block.rule[place] >= table.rules.size() || block.start[place] < before) std::abort();
    if (row > 0 && row < table.rows && block.start[place] == before) std::abort();
    before = block.start[place];
    if (row < table.rows && &table.find(before) != &table.rules[block.rule[place]]) std::abort();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const base::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto elf = objects::ElfFile::parse(bytes);
  if (!elf) {
    // It is also taken for the call-frame information of generated code.
    const objects::CfiSection frames(bytes, 0x10000, objects::CfiSection::Kind::kEhFrame, true);
    check(objects::build_frame_rows({uint16_t(size % 2 == 0 ? EM_X86_64 : EM_AARCH64), 0, UINT32_MAX}, frames));
    // Anything else is taken for an entry of the cache, which begins at a multiple of 64 bytes.
    std::vector<std::byte> room(size + 64);
    auto* begin = room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64) % 64;
    std::copy(bytes.begin(), bytes.end(), begin);
    if (const auto view = unwind::view_table({begin, size})) {
      for (uint64_t offset = 0; offset < 4096; offset += 61) static_cast<void>(view->find(offset).cfa);
    }
    return 0;
  }
  // The file is also its own debug file, so that .debug_frame meets what is described already.
  check(objects::build_frame_rows(*elf, &*elf));
  return 0;
}
