#include "objects/frame_rows.h"

#include <gtest/gtest.h>

#include <fstream>

#include <fmt/format.h>

#include "objects/cfi_for_tests.h"
#include "objects/run_tool.h"

namespace tephra::objects {
namespace {

using Code = BytesForTests;

constexpr uint64_t kText = 0x401000;
constexpr uint64_t kTextSize = 0x400;
constexpr uint64_t kTextOffset = 0x1000;
constexpr uint64_t kFrames = 0x500000;
constexpr int kRbp = 6;
constexpr int kRsp = 7;
constexpr int kRip = 16;
constexpr int kGoTo = DW_CFA_advance_loc;

// A row as text, so that a failing test can be read.
std::string text_of(const tephra_frame_rule& rule) {
  static const char* const kCfa[] = {"none", "sp",  "fp",     "reg",       "*sp",
                                     "*fp",  "plt", "signal", "outermost", "unsupported"};
  static const char* const kSaved[] = {"same", "cfa", "fp", "lost"};
  std::string text = kCfa[rule.cfa];
  if (rule.cfa == TEPHRA_CFA_REGISTER) text += std::to_string(rule.cfa_register);
  if (rule.cfa >= TEPHRA_CFA_SIGNAL || rule.cfa == TEPHRA_CFA_NONE) return text;
  const auto number = [](int value) { return (value < 0 ? "" : "+") + std::to_string(value); };
  text += number(rule.cfa_offset);
  if (rule.cfa_offset2 != 0) text += "," + number(rule.cfa_offset2);
  text += std::string(" fp=") + kSaved[rule.fp] + (rule.fp_offset != 0 ? number(rule.fp_offset) : "");
  text += std::string(" ra=") + kSaved[rule.ra] + (rule.ra_offset != 0 ? number(rule.ra_offset) : "");
  return text;
}

using Rows = std::vector<std::pair<uint64_t, std::string>>;

Rows rows_of(const FrameRows& table, uint64_t base = kTextOffset) {
  Rows rows;
  for (uint64_t i = 0; i < table.rows; ++i) {
    const auto& block = table.blocks[i / TEPHRA_FRAME_BLOCK_ROWS];
    const size_t place = i % TEPHRA_FRAME_BLOCK_ROWS;
    rows.emplace_back(block.start[place] - base, text_of(table.rules[block.rule[place]]));
  }
  return rows;
}

ElfForTests elf_of(const std::string& eh_frame, uint16_t machine = EM_X86_64) {
  ElfForTests elf;
  elf.machine = machine;
  elf.sections.push_back({".text", kText, std::string(kTextSize, '\xcc'), true});
  if (!eh_frame.empty()) elf.sections.push_back({".eh_frame", kFrames, eh_frame});
  return elf;
}

FrameRows build(const ElfForTests& elf) {
  const std::string bytes = elf.bytes();
  const auto parsed = ElfFile::parse(base::as_bytes(bytes));
  EXPECT_TRUE(parsed.ok());
  return build_frame_rows(*parsed);
}

FrameRows build(const CfiForTests& frames, uint16_t machine = EM_X86_64) {
  return build(elf_of(frames.bytes(), machine));
}

// The rows of one function of 0x40 bytes.
Rows rows_of(const Code& instructions, CfiForTests::Common common = {}, uint16_t machine = EM_X86_64) {
  Rows rows = rows_of(build(CfiForTests(kFrames).common(common).function(kText, 0x40, instructions), machine));
  EXPECT_EQ(rows.back(), Rows::value_type(0x40, "none"));
  rows.pop_back();
  return rows;
}

const std::string kEntryRow = "sp+8 fp=same ra=cfa-8";

TEST(FrameRows, PrologueAndEpilogue) {
  const Rows rows = rows_of(Code{kGoTo | 1, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | kRbp, 2, kGoTo | 3,
                                 DW_CFA_def_cfa_register, kRbp, kGoTo | 0x20, DW_CFA_def_cfa, kRsp, 8});
  EXPECT_EQ(rows, (Rows{{0, kEntryRow},
                        {1, "sp+16 fp=cfa-16 ra=cfa-8"},
                        {4, "fp+16 fp=cfa-16 ra=cfa-8"},
                        {0x24, "sp+8 fp=cfa-16 ra=cfa-8"}}));
}

TEST(FrameRows, StateIsRememberedAndRestored) {
  const Rows rows =
      rows_of(Code{kGoTo | 1, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | kRbp, 2, kGoTo | 7, DW_CFA_remember_state,
                   DW_CFA_def_cfa_offset, 8, DW_CFA_restore | kRbp, kGoTo | 1, DW_CFA_restore_state});
  EXPECT_EQ(rows,
            (Rows{{0, kEntryRow}, {1, "sp+16 fp=cfa-16 ra=cfa-8"}, {8, kEntryRow}, {9, "sp+16 fp=cfa-16 ra=cfa-8"}}));
}

TEST(FrameRows, EveryWayToMoveOn) {
  const Rows rows = rows_of(Code{kGoTo | 1, DW_CFA_def_cfa_offset, 16}
                                .u8(DW_CFA_advance_loc1)
                                .u8(2)
                                .text(Code{DW_CFA_def_cfa_offset, 24}.bytes())
                                .u8(DW_CFA_advance_loc2)
                                .u16(3)
                                .text(Code{DW_CFA_def_cfa_offset, 32}.bytes())
                                .u8(DW_CFA_advance_loc4)
                                .u32(4)
                                .text(Code{DW_CFA_def_cfa_offset, 40}.bytes())
                                .u8(DW_CFA_MIPS_advance_loc8)
                                .u64(5)
                                .text(Code{DW_CFA_def_cfa_offset, 48}.bytes()));
  ASSERT_EQ(rows.size(), 6u);
  const uint64_t expected[] = {0, 1, 3, 6, 10, 15};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(rows[i].first, expected[i]);
}

TEST(FrameRows, SetLocIsAnEncodedPointer) {
  CfiForTests::Common common;
  common.encoding = DW_EH_PE_absptr;
  const auto instructions = Code{DW_CFA_set_loc}.u64(kText + 4).text(Code{DW_CFA_def_cfa_offset, 16}.bytes());
  EXPECT_EQ(rows_of(instructions, common), (Rows{{0, kEntryRow}, {4, "sp+16 fp=same ra=cfa-8"}}));
  const auto back = Code{kGoTo | 8, DW_CFA_set_loc}.u64(kText + 4).text(Code{DW_CFA_def_cfa_offset, 16}.bytes());
  EXPECT_EQ(rows_of(back, common), (Rows{{0, kEntryRow}, {8, "unsupported"}}));
}

TEST(FrameRows, WhatDoesNotMatterMakesNoRows) {
  const Rows rows = rows_of(Code{kGoTo | 1,
                                 DW_CFA_offset | 3,
                                 2,
                                 kGoTo | 1,
                                 DW_CFA_GNU_args_size,
                                 16,
                                 kGoTo | 1,
                                 DW_CFA_same_value,
                                 3,
                                 kGoTo | 1,
                                 DW_CFA_undefined,
                                 3,
                                 kGoTo | 1,
                                 DW_CFA_nop,
                                 kGoTo | 1,
                                 DW_CFA_register,
                                 12,
                                 13,
                                 kGoTo | 1,
                                 DW_CFA_restore_extended,
                                 3});
  EXPECT_EQ(rows, (Rows{{0, kEntryRow}}));
}

TEST(FrameRows, SavedFramePointerInAllForms) {
  const auto one = [](const Code& instructions) { return rows_of(instructions).back().second; };
  EXPECT_EQ(one({DW_CFA_offset_extended, kRbp, 3}), "sp+8 fp=cfa-24 ra=cfa-8");
  EXPECT_EQ(one(Code{DW_CFA_offset_extended_sf, kRbp}.sleb(-2)), "sp+8 fp=cfa+16 ra=cfa-8");
  EXPECT_EQ(one({DW_CFA_GNU_negative_offset_extended, kRbp, 2}), "sp+8 fp=cfa+16 ra=cfa-8");
  EXPECT_EQ(one({DW_CFA_undefined, kRbp}), "sp+8 fp=lost ra=cfa-8");
  EXPECT_EQ(one({DW_CFA_undefined, kRbp, DW_CFA_same_value, kRbp}), kEntryRow);
  EXPECT_EQ(one({DW_CFA_register, kRbp, 12}), "sp+8 fp=lost ra=cfa-8");
  EXPECT_EQ(one({DW_CFA_val_offset, kRbp, 2}), "sp+8 fp=lost ra=cfa-8");
  EXPECT_EQ(one({DW_CFA_val_offset_sf, kRbp, 2}), "sp+8 fp=lost ra=cfa-8");
  EXPECT_EQ(one(Code{DW_CFA_offset_extended, kRbp}.uleb(5000)), "sp+8 fp=lost ra=cfa-8");  // 40000 bytes down
  EXPECT_EQ(one(Code{}.expression(DW_CFA_expression, kRbp, {DW_OP_breg0 + kRbp, 0})), "sp+8 fp=fp ra=cfa-8");
  EXPECT_EQ(one(Code{}.expression(DW_CFA_expression, kRbp, {DW_OP_breg0 + kRsp, 0})), "sp+8 fp=cfa-8 ra=cfa-8");
  EXPECT_EQ(one(Code{}.expression(DW_CFA_expression, kRbp, {DW_OP_breg0 + 12, 0})), "sp+8 fp=lost ra=cfa-8");
  EXPECT_EQ(one(Code{}.expression(DW_CFA_val_expression, kRbp, {DW_OP_breg0 + kRsp, 0})), "sp+8 fp=lost ra=cfa-8");
}

TEST(FrameRows, StackRealignedAsGccDoes) {
  // lea 8(%rsp),%r10; and; push -8(%r10); push %rbp; mov %rsp,%rbp; push %r10
  const Rows rows =
      rows_of(Code{kGoTo | 5, DW_CFA_def_cfa, 10, 0, kGoTo | 9}
                  .expression(DW_CFA_expression, kRbp, {DW_OP_breg0 + kRbp, 0})
                  .u8(kGoTo | 5)
                  .expression(DW_CFA_def_cfa_expression, -1, {DW_OP_breg0 + kRbp, 0x78, DW_OP_deref})
                  .text(Code{kGoTo | 9, DW_CFA_def_cfa, 10, 0, kGoTo | 5, DW_CFA_def_cfa, kRsp, 8}.bytes()));
  EXPECT_EQ(rows, (Rows{{0, kEntryRow},
                        {5, "reg10+0 fp=same ra=cfa-8"},
                        {14, "reg10+0 fp=fp ra=cfa-8"},
                        {19, "*fp-8 fp=fp ra=cfa-8"},
                        {28, "reg10+0 fp=fp ra=cfa-8"},
                        {33, "sp+8 fp=fp ra=cfa-8"}}));
}

TEST(FrameRows, FrameAddressByExpression) {
  const auto one = [](const Code& expression) {
    return rows_of(Code{}.expression(DW_CFA_def_cfa_expression, -1, expression)).back().second;
  };
  constexpr int kAtSp = DW_OP_breg0 + kRsp;
  EXPECT_EQ(one({kAtSp, 16}), "sp+16 fp=same ra=cfa-8");
  EXPECT_EQ(one({kAtSp, 16, DW_OP_lit8, DW_OP_plus}), "sp+24 fp=same ra=cfa-8");
  EXPECT_EQ(one(Code{kAtSp}.sleb(152).u8(DW_OP_deref).u8(DW_OP_plus_uconst).u8(8)), "*sp+152,+8 fp=same ra=cfa-8");
  EXPECT_EQ(one({kAtSp, 16, DW_OP_deref, DW_OP_lit8, DW_OP_minus}), "*sp+16,-8 fp=same ra=cfa-8");
  EXPECT_EQ(one({DW_OP_bregx, kRsp, 16, DW_OP_deref, DW_OP_const1u, 8, DW_OP_plus}), "*sp+16,+8 fp=same ra=cfa-8");
  EXPECT_EQ(one(Code{DW_OP_breg0 + kRbp, 0x78, DW_OP_deref, DW_OP_const2s}.u16(0xfff0).u8(DW_OP_plus)),
            "*fp-8,-16 fp=same ra=cfa-8");
  for (const Code& odd : {Code{DW_OP_breg0 + 12, 0, DW_OP_deref}, Code{kAtSp, 0, DW_OP_deref, DW_OP_deref},
                          Code{kAtSp, 0, DW_OP_dup, DW_OP_plus}, Code{DW_OP_plus}, Code{}, Code{DW_OP_lit1},
                          Code{kAtSp, 0, kAtSp, 0}, Code{kAtSp, 0, kAtSp, 0, DW_OP_plus}, Code{kAtSp}}) {
    EXPECT_EQ(one(odd), "unsupported") << testing::PrintToString(odd.bytes());
  }
}

TEST(FrameRows, LinkageStubsAsGnuLinkersDescribeThem) {
  for (const int reached : {11, 10, 9, 5}) {
    const auto rows =
        rows_of(Code{DW_CFA_def_cfa_offset, 16, kGoTo | 6, DW_CFA_def_cfa_offset, 24, kGoTo | 10}.expression(
            DW_CFA_def_cfa_expression, -1,
            {DW_OP_breg0 + kRsp, 8, DW_OP_breg0 + kRip, 0, DW_OP_lit15, DW_OP_and, DW_OP_lit0 + reached, DW_OP_ge,
             DW_OP_lit3, DW_OP_shl, DW_OP_plus}));
    EXPECT_EQ(rows, (Rows{{0, "sp+16 fp=same ra=cfa-8"},
                          {6, "sp+24 fp=same ra=cfa-8"},
                          {16, "plt+8,+" + std::to_string(reached) + " fp=same ra=cfa-8"}}));
  }
}

TEST(FrameRows, FrameAddressFromAnotherRegister) {
  EXPECT_EQ(rows_of(Code{DW_CFA_def_cfa, 0, 24}), (Rows{{0, "reg0+24 fp=same ra=cfa-8"}}));
  EXPECT_EQ(rows_of(Code{DW_CFA_def_cfa, 15, 24}), (Rows{{0, "reg15+24 fp=same ra=cfa-8"}}));
  EXPECT_EQ(rows_of(Code{DW_CFA_def_cfa, 17, 24}), (Rows{{0, "unsupported"}}));  // a vector register
  EXPECT_EQ(rows_of(Code{DW_CFA_def_cfa_sf, kRsp}.sleb(-2)), (Rows{{0, "sp+16 fp=same ra=cfa-8"}}));
  EXPECT_EQ(rows_of(Code{DW_CFA_def_cfa_offset_sf}.sleb(-3)), (Rows{{0, "sp+24 fp=same ra=cfa-8"}}));
  EXPECT_EQ(rows_of(Code{DW_CFA_def_cfa, kRsp}.uleb(uint64_t{1} << 40)), (Rows{{0, "unsupported"}}));
}

TEST(FrameRows, ReturnAddress) {
  EXPECT_EQ(rows_of(Code{DW_CFA_undefined, kRip}), (Rows{{0, "outermost"}}));
  EXPECT_EQ(rows_of(Code{DW_CFA_undefined, kRip, kGoTo | 1, DW_CFA_restore | kRip}),
            (Rows{{0, "outermost"}, {1, kEntryRow}}));
  EXPECT_EQ(rows_of(Code{DW_CFA_register, kRip, 5}), (Rows{{0, "unsupported"}}));  // as vfork does
  EXPECT_EQ(rows_of(Code{DW_CFA_same_value, kRip}), (Rows{{0, "unsupported"}}));
  EXPECT_EQ(rows_of(Code{}.expression(DW_CFA_expression, kRip, {DW_OP_breg0 + kRsp, 0})), (Rows{{0, kEntryRow}}));
  CfiForTests::Common odd;
  odd.return_register = 15;
  EXPECT_EQ(rows_of(Code{}, odd), (Rows{{0, "unsupported"}}));
  CfiForTests::Common silent;
  silent.instructions = {};
  EXPECT_EQ(rows_of(Code{}, silent), (Rows{{0, "unsupported"}}));
}

TEST(FrameRows, InstructionsThatCannotBeRead) {
  EXPECT_EQ(rows_of(Code{kGoTo | 4, 0x3e}), (Rows{{0, kEntryRow}, {4, "unsupported"}}));
  EXPECT_EQ(rows_of(Code{kGoTo | 4, DW_CFA_restore_state}), (Rows{{0, kEntryRow}, {4, "unsupported"}}));
  EXPECT_EQ(rows_of(Code{kGoTo | 4, DW_CFA_def_cfa_offset}), (Rows{{0, kEntryRow}, {4, "unsupported"}}));
  const auto table = build(CfiForTests(kFrames).common({}).function(kText, 8, Code{0x3e}).function(kText + 8, 8));
  EXPECT_EQ(table.damaged, 1u);
  EXPECT_EQ(table.unsupported_rows, 1u);
  EXPECT_EQ(rows_of(table), (Rows{{0, "unsupported"}, {8, kEntryRow}, {16, "none"}}));
}

TEST(FrameRows, GapsAreMergedIfSmall) {
  CfiForTests frames(kFrames);
  frames.common({}).function(kText, 0x10).function(kText + 0x1f, 0x10).function(kText + 0x3f, 0x10);
  EXPECT_EQ(rows_of(build(frames)), (Rows{{0, kEntryRow}, {0x2f, "none"}, {0x3f, kEntryRow}, {0x4f, "none"}}));
}

TEST(FrameRows, FunctionsAreSortedAndOverlapsCut) {
  const Code deeper{DW_CFA_def_cfa_offset, 16};
  CfiForTests frames(kFrames);
  frames.common({})
      .function(kText + 0x40, 0x10, deeper)
      .function(kText, 0x100)                // reaches into the one above
      .function(kText + 0x40, 0x80)          // begins where another does
      .function(kText + 0x100, 0)            // empty
      .function(0, 0x100, deeper)            // discarded by the linker
      .function(kText + kTextSize, 0x10)     // behind the code
      .function(kText + kTextSize - 8, 64);  // reaches behind it
  const FrameRows table = build(frames);
  EXPECT_EQ(rows_of(table), (Rows{{0, kEntryRow},
                                  {0x40, "sp+16 fp=same ra=cfa-8"},
                                  {0x50, "none"},
                                  {kTextSize - 8, kEntryRow},
                                  {kTextSize, "none"}}));
  EXPECT_EQ(table.discarded, 3u);
  EXPECT_EQ(table.damaged, 0u);
}

TEST(FrameRows, PointersInAllEncodings) {
  for (const int encoding :
       std::initializer_list<int>{DW_EH_PE_absptr, DW_EH_PE_udata4, DW_EH_PE_sdata4, DW_EH_PE_udata8, DW_EH_PE_sdata8,
                                  DW_EH_PE_uleb128, DW_EH_PE_sleb128, DW_EH_PE_pcrel | DW_EH_PE_sdata4,
                                  DW_EH_PE_pcrel | DW_EH_PE_sdata8, DW_EH_PE_pcrel | DW_EH_PE_absptr}) {
    CfiForTests::Common common;
    common.encoding = encoding;
    EXPECT_EQ(rows_of(Code{}, common), (Rows{{0, kEntryRow}})) << encoding;
  }
  CfiForTests::Common indirect;
  indirect.encoding = DW_EH_PE_funcrel | DW_EH_PE_sdata4;
  const FrameRows table = build(CfiForTests(kFrames).common(indirect).function(kText, 8));
  EXPECT_EQ(table.rows, 0u);
  EXPECT_EQ(table.damaged, 1u);
}

TEST(FrameRows, CommonEntriesOfAllKinds) {
  for (const char* augmentation : {"", "zR", "zPLR", "eh", "zRB"}) {
    for (const int version : {1, 3, 4}) {
      CfiForTests::Common common;
      common.augmentation = augmentation;
      common.version = version;
      if (common.augmentation.size() < 2 || common.augmentation == "eh") common.encoding = DW_EH_PE_absptr;
      EXPECT_EQ(rows_of(Code{}, common), (Rows{{0, kEntryRow}})) << augmentation << version;
    }
  }
  CfiForTests::Common unknown;
  unknown.augmentation = "armcc+";
  EXPECT_EQ(build(CfiForTests(kFrames).common(unknown).function(kText, 8)).damaged, 1u);
  CfiForTests::Common wide;
  wide.is_wide = true;
  EXPECT_EQ(rows_of(Code{}, wide), (Rows{{0, kEntryRow}}));
}

TEST(FrameRows, GoesOnBehindAZeroLength) {
  CfiForTests frames(kFrames);
  frames.common({}).function(kText, 0x10).terminator().function(kText + 0x10, 0x10, Code{DW_CFA_def_cfa_offset, 16});
  EXPECT_EQ(rows_of(build(frames)).size(), 3u);
}

TEST(FrameRows, DebugFrameDescribesTheRest) {
  for (const bool is_wide : {false, true}) {
    CfiForTests::Common common;
    common.augmentation = "";
    common.encoding = DW_EH_PE_absptr;
    common.version = 4;
    common.is_wide = is_wide;
    const Code deeper{DW_CFA_def_cfa_offset, 16};
    CfiForTests debug(0, false);
    debug.common(common).function(kText, 0x100, deeper).function(kText + 0x200, 0x10, deeper);
    CfiForTests frames(kFrames);
    frames.common({}).function(kText + 0x40, 0x40);
    ElfForTests elf = elf_of(frames.bytes());
    const Rows expected{{0, "sp+16 fp=same ra=cfa-8"},     {0x40, kEntryRow},
                        {0x80, "sp+16 fp=same ra=cfa-8"},  {0x100, "none"},
                        {0x200, "sp+16 fp=same ra=cfa-8"}, {0x210, "none"}};
    ElfForTests with_debug = elf;
    with_debug.sections.push_back({".debug_frame", 0, debug.bytes()});
    EXPECT_EQ(rows_of(build(with_debug)), expected);
    // The same from a separate file.
    ElfForTests separate;
    separate.sections.push_back({".debug_frame", 0, debug.bytes()});
    const std::string bytes = elf.bytes();
    const std::string debug_bytes = separate.bytes();
    const auto parsed = ElfFile::parse(base::as_bytes(bytes));
    const auto debug_parsed = ElfFile::parse(base::as_bytes(debug_bytes));
    EXPECT_EQ(rows_of(build_frame_rows(*parsed, &*debug_parsed)), expected);
  }
}

TEST(FrameRows, CompressedDebugFrame) {
  CfiForTests::Common common;
  common.augmentation = "";
  common.encoding = DW_EH_PE_absptr;
  CfiForTests frames(0, false);
  frames.common(common);
  for (uint64_t i = 0; i < 64; ++i) frames.function(kText + i * 0x10, 0x10);  // enough to be worth compressing
  ElfForTests separate;
  separate.sections.push_back({".debug_frame", 0, frames.bytes()});
  const std::string folder = testing::TempDir();
  const std::string plain = folder + "tephra-debug-frame";
  std::ofstream(plain, std::ios::binary) << separate.bytes();
  const std::string bytes = elf_of("").bytes();
  const auto elf = ElfFile::parse(base::as_bytes(bytes));
  for (const std::string kind : {"zlib-gabi", "zlib-gnu", "zstd"}) {
    SCOPED_TRACE(kind);
    const std::string packed = plain + "-packed";
    const std::string said =
        run_tool(fmt::format("objcopy --compress-debug-sections={} {} {} 2>&1", kind, plain, packed));
    if (kind == "zstd" && !said.empty()) continue;  // not every release knows it
    ASSERT_EQ(said, "");
    std::ifstream file(packed, std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(file)), {});
    std::remove(packed.c_str());
    const auto debug = ElfFile::parse(base::as_bytes(content));
    ASSERT_TRUE(debug.ok());
    const auto* section = debug->section(kind == "zlib-gnu" ? ".zdebug_frame" : ".debug_frame");
    ASSERT_NE(section, nullptr);
    ASSERT_EQ(section->compressed_content.empty(), kind == "zlib-gnu");
    EXPECT_EQ(rows_of(build_frame_rows(*elf, &*debug)), (Rows{{0, kEntryRow}, {kTextSize, "none"}}));
  }
  std::remove(plain.c_str());
}

TEST(FrameRows, Arm64) {
  const auto rows = rows_of(Code{kGoTo | 1, DW_CFA_AARCH64_negate_ra_state, kGoTo | 1, DW_CFA_def_cfa_offset, 32,
                                 DW_CFA_offset | 29, 4, DW_CFA_offset | 30, 3, kGoTo | 1, DW_CFA_def_cfa_register, 29,
                                 kGoTo | 4, DW_CFA_restore | 30, DW_CFA_restore | 29, DW_CFA_def_cfa, 31, 0},
                            CfiForTests::arm64(), EM_AARCH64);
  EXPECT_EQ(rows, (Rows{{0, "sp+0 fp=same ra=same"},
                        {8, "sp+32 fp=cfa-32 ra=cfa-24"},
                        {12, "fp+32 fp=cfa-32 ra=cfa-24"},
                        {28, "sp+0 fp=same ra=same"}}));
  EXPECT_EQ(rows_of(Code{DW_CFA_undefined, 30}, CfiForTests::arm64(), EM_AARCH64), (Rows{{0, "outermost"}}));
  EXPECT_EQ(rows_of(Code{DW_CFA_register, 30, 17}, CfiForTests::arm64(), EM_AARCH64), (Rows{{0, "unsupported"}}));
}

TEST(FrameRows, SignalFrameByAugmentationAndCode) {
  CfiForTests::Common common;
  common.augmentation = "zRS";
  const Code saved =
      Code{}.expression(DW_CFA_def_cfa_expression, -1, Code{DW_OP_breg0 + kRsp}.sleb(160).u8(DW_OP_deref));
  ElfForTests elf = elf_of(CfiForTests(kFrames).common(common).function(kText + 0xf, 0x11, saved).bytes());
  EXPECT_EQ(rows_of(build(elf))[0].second, "*sp+160 fp=same ra=cfa-8");  // by someone else
  elf.sections[0].content.replace(0x10, 9, std::string("\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9));
  EXPECT_EQ(rows_of(build(elf)), (Rows{{0xf, "signal"}, {0x20, "none"}}));
}

TEST(FrameRows, SignalReturnWithoutDescription) {
  ElfForTests elf = elf_of("");
  elf.sections[0].content.replace(0x49, 9, std::string("\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9));
  // A handler returns to the first byte, whose rule is that of the byte before.
  EXPECT_EQ(rows_of(build(elf)), (Rows{{0x48, "signal"}, {0x52, "none"}}));
  elf = elf_of("", EM_AARCH64);
  elf.sections[0].content.replace(0x40, 8, std::string("\x68\x11\x80\xd2\x01\x00\x00\xd4", 8));
  EXPECT_EQ(rows_of(build(elf)), (Rows{{0x3f, "signal"}, {0x48, "none"}}));
}

TEST(FrameRows, EntryIsOutermost) {
  ElfForTests elf = elf_of(CfiForTests(kFrames).common({}).function(kText + 0x40, 0x20).bytes());
  elf.entry = kText + 0x10;
  EXPECT_EQ(rows_of(build(elf))[0].second, kEntryRow);  // a library may name any place
  elf.sections[0].content.replace(0x10, 3, "\x48\x31\xed");
  EXPECT_EQ(rows_of(build(elf)), (Rows{{0x10, "outermost"}, {0x40, kEntryRow}, {0x60, "none"}}));
  elf.type = ET_EXEC;
  elf.entry = kText + 0x48;  // described as if it had a caller
  EXPECT_EQ(rows_of(build(elf)), (Rows{{0x40, "outermost"}, {0x60, "none"}}));
}

TEST(FrameRows, LinkageStubsWithoutDescription) {
  ElfForTests elf = elf_of("");
  const std::string first("\xff\x35\0\0\0\0\xff\x25\0\0\0\0\x0f\x1f\x40\0", 16);
  const std::string lazy("\xff\x25\0\0\0\0\x68\0\0\0\0\xe9\0\0\0\0", 16);
  const std::string marked("\xf3\x0f\x1e\xfa\x68\0\0\0\0\xe9\0\0\0\0\x66\x90", 16);
  const uint64_t offset = 0x2000;
  elf.sections.push_back({".plt", 0x402000, first + lazy + lazy, true});
  EXPECT_EQ(rows_of(build(elf), offset), (Rows{{0, "sp+16 fp=same ra=cfa-8"},
                                               {6, "sp+24 fp=same ra=cfa-8"},
                                               {16, "plt+8,+11 fp=same ra=cfa-8"},
                                               {48, "none"}}));
  elf.sections[1].content = first + marked;
  EXPECT_EQ(rows_of(build(elf), offset)[2].second, "plt+8,+9 fp=same ra=cfa-8");
  elf.sections[1] = {".plt.sec", 0x402000, std::string("\xf3\x0f\x1e\xfa\xff\x25\0\0\0\0", 10) + "\x66\x90", true};
  EXPECT_EQ(rows_of(build(elf), offset)[0].second, kEntryRow);
  elf.machine = EM_AARCH64;
  elf.sections[1] = {".plt", 0x402000, "\xf0\x7b\xbf\xa9" + std::string(44, 'x'), true};
  EXPECT_EQ(
      rows_of(build(elf), offset),
      (Rows{{0, "sp+0 fp=same ra=same"}, {4, "sp+16 fp=same ra=cfa-8"}, {32, "sp+0 fp=same ra=same"}, {48, "none"}}));
}

TEST(FrameRows, OnlyWhatRowsCanReach) {
  // A segment whose code begins 16 bytes before 4 GiB of the file; the file itself need not be that long.
  ElfForTests elf = elf_of(CfiForTests(kFrames).common({}).function(kText, 8).function(kText + 16, 8).bytes());
  std::string bytes = elf.bytes();
  Elf64_Phdr segment = base::load<Elf64_Phdr>(base::as_bytes(bytes).data() + sizeof(Elf64_Ehdr));
  segment.p_offset = (uint64_t{1} << 32) - 16;
  bytes.replace(sizeof(Elf64_Ehdr), sizeof segment, reinterpret_cast<const char*>(&segment), sizeof segment);
  const FrameRows table = build_frame_rows(*ElfFile::parse(base::as_bytes(bytes)));
  EXPECT_EQ(table.beyond_reach, 1u);
  EXPECT_EQ(rows_of(table, segment.p_offset), (Rows{{0, kEntryRow}, {8, "none"}}));
}

TEST(FrameRows, OtherMachinesHaveNone) {
  EXPECT_EQ(build(CfiForTests(kFrames).common({}).function(kText, 8), EM_RISCV).rows, 0u);
  EXPECT_EQ(build(elf_of("")).rows, 0u);
}

TEST(FrameRows, LastBlockRepeatsTheLastRow) {
  CfiForTests frames(kFrames);
  frames.common({});
  for (uint64_t i = 0; i < 40; ++i)
    frames.function(kText + i * 8, 8, Code{DW_CFA_def_cfa_offset, int(16 + i * 8 % 64)});
  const FrameRows table = build(frames);
  EXPECT_EQ(table.rows, 41u);
  ASSERT_EQ(table.blocks.size(), 1u);
  EXPECT_EQ(table.blocks[0].start[63], kTextOffset + 320);
  EXPECT_EQ(table.rules[table.blocks[0].rule[63]].cfa, TEPHRA_CFA_NONE);
}

TEST(FrameRows, OfCodeInMemory) {
  constexpr uint64_t kMemory = 0x7f0000001000;
  CfiForTests frames(kMemory + 0x40);
  frames.common({}).function(kMemory + 8, 0x20, Code{kGoTo | 4, DW_CFA_def_cfa_offset, 16});
  const CfiSection section(base::as_bytes(frames.bytes()), kMemory + 0x40, CfiSection::Kind::kEhFrame, true);
  const FrameRows table = build_frame_rows({EM_X86_64, kMemory, 0x30}, section);
  EXPECT_EQ(rows_of(table, 0), (Rows{{8, kEntryRow}, {12, "sp+16 fp=same ra=cfa-8"}, {0x28, "none"}}));
  EXPECT_EQ(build_frame_rows({EM_X86_64, kMemory + 0x100, 0x30}, section).rows, 0u) << "it is not there";
  EXPECT_EQ(build_frame_rows({EM_RISCV, kMemory, 0x30}, section).rows, 0u);
  EXPECT_EQ(build_frame_rows({EM_X86_64, kMemory, UINT64_MAX}, section).rows, 3u);
}

TEST(FrameRows, HostileSizeOfWorkStaysLinear) {
  // Every function points to another common entry inside the same long run of bytes.
  std::string section;
  for (int i = 0; i < 20000; ++i) section += std::string("\x0c\0\0\0\x04\0\0\0\x01\0\0\0\x01\0\0\0", 16);
  const FrameRows table = build(elf_of(section));
  EXPECT_EQ(table.rows, 0u);
}

}  // namespace
}  // namespace tephra::objects
