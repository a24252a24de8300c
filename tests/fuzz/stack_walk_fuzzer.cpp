// Random call-frame rows, registers and stacks: a walk ends within its limits and reads nothing outside the copy.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/bytes.h"
#include "model/profile_assembler.h"
#include "unwind/stack_walker.h"

namespace {

using namespace tephra;

constexpr uint64_t kCode = 0x400000;

unwind::FrameTable table_of(const std::vector<tephra_frame_rule>& rules, std::vector<tephra_frame_block>& blocks,
                            uint8_t stride) {
  blocks.assign(1, {});
  for (uint32_t i = 0; i < TEPHRA_FRAME_BLOCK_ROWS; ++i) {
    blocks[0].start[i] = i * stride;
    blocks[0].rule[i] = static_cast<uint16_t>(i % rules.size());
  }
  return {.blocks = blocks, .rules = rules, .rows = TEPHRA_FRAME_BLOCK_ROWS};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  base::ByteReader reader(std::as_bytes(std::span(data, size)));
  const uint8_t flags = reader.u8();
  const uint8_t stride = static_cast<uint8_t>(reader.u8() | 1);
  std::vector<tephra_frame_rule> rules(1 + flags % 8);
  for (auto& rule : rules) rule = reader.read<tephra_frame_rule>();
  std::vector<tephra_frame_block> blocks;
  const unwind::FrameTable table = table_of(rules, blocks, stride);
  const uint64_t mask = flags & 16 ? reader.u64() : flags & 32 ? 0x1ffffffff : 0xff0fff;
  const base::Bytes registers = reader.bytes(reader.u8());
  const stream::RawStack raw{flags & 64 ? uint64_t{1} : 2, mask, registers, reader.bytes(reader.remaining()),
                             (flags & 128) != 0};

  model::ProfileAssembler assembler;
  stream::AddressSpaces spaces;
  const auto file = assembler.mapping({.path = assembler.string("/a"), .kind = model::CodeKind::kFile});
  const auto memory = assembler.mapping({.kind = model::CodeKind::kAnonymous});
  auto space = spaces.map(stream::AddressSpaces::kEmpty, {kCode, kCode + 0x4000, 0, file});
  space = spaces.map(space, {kCode + 0x4000, kCode + 0x5000, kCode + 0x4000, memory});
  const stream::JitCode code;
  unwind::StackWalker walker(flags & 8 ? unwind::Machine::kArm64 : unwind::Machine::kX86_64, spaces, code,
                             assembler.so_far(), [&](const model::Mapping&) { return &table; });
  std::vector<uint64_t> addresses;
  const auto end = walker.walk(raw, {.space = space}, addresses);
  if (end.how == TEPHRA_WALK_NOT_TOLD || end.how > TEPHRA_WALK_LAST_END) std::abort();
  if (addresses.size() > 2 * unwind::StackWalker::kMostFrames) std::abort();
  return 0;
}
