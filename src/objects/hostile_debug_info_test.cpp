// Small files that stand for endless debug information or call-frame information: what is read of them is bounded by
// their size. Reading them the simple way would take hours or all memory.
#include <dwarf.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "objects/call_frames.h"
#include "objects/cfi_for_tests.h"
#include "objects/debug_info.h"
#include "objects/elf_file.h"

namespace tephra::objects {
namespace {

constexpr int kListOffset = 12;  // behind the header of the section

std::string range_list(const BytesForTests& entry, size_t count) {
  BytesForTests list;
  list.u16(5).u8(8).u8(0).u32(0);
  for (size_t i = 0; i < count; ++i) list.text(entry.bytes());
  list.u8(DW_RLE_end_of_list);
  return BytesForTests().u32(list.bytes().size()).text(list.bytes()).bytes();
}

// A list of ranges of 32-bit offsets, all of them [1, 2).
std::string range_lists(size_t count) { return range_list(BytesForTests{DW_RLE_offset_pair, 1, 2}, count); }

// A list that tells what its ranges begin from, again and again, and has none.
std::string base_lists(size_t count) { return range_list(BytesForTests().u8(DW_RLE_base_address).u64(1), count); }

std::string unit(const std::string& entries) {
  BytesForTests content;
  content.u16(5).u8(DW_UT_compile).u8(8).u32(0).text(entries);
  return BytesForTests().u32(content.bytes().size()).text(content.bytes()).bytes();
}

std::string file_of(const std::string& abbreviations, const std::string& info, const std::string& lists) {
  ElfForTests elf;
  elf.sections = {{".debug_info", 0, info}, {".debug_abbrev", 0, abbreviations}, {".debug_rnglists", 0, lists}};
  return elf.bytes();
}

// One unit whose functions all have the same list of ranges; it says nothing of its own code, so it is read at once.
std::string functions_with_one_list(size_t functions, const std::string& list) {
  const std::string abbreviations =
      BytesForTests{1, DW_TAG_compile_unit, 1, 0, 0, 2, DW_TAG_subprogram, 0, DW_AT_ranges, DW_FORM_sec_offset, 0, 0, 0}
          .bytes();
  BytesForTests entries;
  entries.u8(1);
  for (size_t i = 0; i < functions; ++i) entries.u8(2).u32(kListOffset);
  entries.u8(0);
  return file_of(abbreviations, unit(entries.bytes()), list);
}
std::string functions_with_one_list(size_t functions, size_t ranges) {
  return functions_with_one_list(functions, range_lists(ranges));
}

std::string units_with_one_list(size_t units, const std::string& list) {
  const std::string abbreviations =
      BytesForTests{1, DW_TAG_compile_unit, 0, DW_AT_ranges, DW_FORM_sec_offset, 0, 0, 0}.bytes();
  std::string info;
  for (size_t i = 0; i < units; ++i) info += unit(BytesForTests().u8(1).u32(kListOffset).bytes());
  return file_of(abbreviations, info, list);
}
std::string units_with_one_list(size_t units, size_t ranges) { return units_with_one_list(units, range_lists(ranges)); }

TEST(HostileDebugInfo, FewRangesAreRead) {
  for (const std::string& file : {functions_with_one_list(3, 5), units_with_one_list(3, 5)}) {
    const auto info = DebugInfo::open(base::as_bytes(file));
    ASSERT_TRUE(info);
    std::vector<DebugInfo::Level> levels;
    info->find(1, levels);
    EXPECT_FALSE(info->is_cut());
  }
  const std::string file = functions_with_one_list(3, 5);
  const auto info = DebugInfo::open(base::as_bytes(file));
  EXPECT_FALSE(info->updated_index().empty());
}

TEST(HostileDebugInfo, ManyFunctionsWithOneLongList) {
  const std::string file = functions_with_one_list(500'000, 1'000'000);
  const auto info = DebugInfo::open(base::as_bytes(file));
  ASSERT_TRUE(info);
  std::vector<DebugInfo::Level> levels;
  info->find(1, levels);
  EXPECT_TRUE(info->is_cut());
  // What is not whole is not kept.
  EXPECT_TRUE(info->updated_index().empty());
}

TEST(HostileDebugInfo, ManyUnitsWithOneLongList) {
  const std::string file = units_with_one_list(100'000, 1'000'000);
  const auto info = DebugInfo::open(base::as_bytes(file));
  ASSERT_TRUE(info);
  EXPECT_TRUE(info->is_cut());
}

// libdw reads such a list to its end before it answers.
TEST(HostileDebugInfo, ManyEntriesWithOneListOfBaseAddresses) {
  const std::string list = base_lists(2'000'000);
  for (const std::string& file : {functions_with_one_list(500'000, list), units_with_one_list(100'000, list)}) {
    const auto info = DebugInfo::open(base::as_bytes(file));
    ASSERT_TRUE(info);
    std::vector<DebugInfo::Level> levels;
    info->find(1, levels);
    EXPECT_TRUE(info->is_cut());
  }
}

TEST(HostileCallFrames, ManyFunctionsWithOneLongCommonEntry) {
  for (const bool terminated : {false, true}) {
    BytesForTests common;
    common.u32(0).u8(1).text(std::string((8 << 20) - 6, 'A')).u8(terminated ? 0 : 'A');
    BytesForTests section;
    section.u32(common.bytes().size()).text(common.bytes());
    for (size_t at = section.bytes().size(), i = 0; i < 1'000'000; ++i, at += 8) section.u32(4).u32(at + 4);
    ElfForTests made;
    made.sections = {{".eh_frame", 0x2000, section.bytes()}};
    const std::string bytes = made.bytes();
    const CallFrames frames(ElfFile::parse(base::as_bytes(bytes)).value());
    EXPECT_FALSE(frames.find(0x2000));
  }
}

}  // namespace
}  // namespace tephra::objects
