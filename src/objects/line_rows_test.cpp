// Rows of line programs, against those of libdw; and without the rows of discarded functions, which libdw mixes in.
#include "objects/line_rows.h"

#include <dwarf.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "objects/cfi_for_tests.h"
#include "objects/dwarf_handle.h"

namespace tephra::objects {
namespace {

base::Bytes lines_of(const ElfFile& elf) { return elf.section(".debug_line")->content; }

// Calls visit(root, offset of its line program) for each unit.
template <class Visit>
void for_each_program(Dwarf* dwarf, Visit visit) {
  Dwarf_CU* unit = nullptr;
  Dwarf_Die root;
  while (::dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &root, nullptr) == 0) {
    Dwarf_Attribute attribute;
    Dwarf_Word offset = 0;
    if (::dwarf_attr(&root, DW_AT_stmt_list, &attribute) == nullptr) continue;
    if (::dwarf_formudata(&attribute, &offset) == 0) visit(root, offset);
  }
}

// libdw takes the last row of a unit for an end, whatever it says.
void expect_row(Dwarf_Line* wanted, const LineRow& row, bool last) {
  Dwarf_Addr address = 0;
  int line = 0;
  bool ends = false;
  size_t file = 0;
  Dwarf_Files* files = nullptr;
  ::dwarf_lineaddr(wanted, &address);
  ::dwarf_lineno(wanted, &line);
  ::dwarf_lineendsequence(wanted, &ends);
  ::dwarf_line_file(wanted, &files, &file);
  ASSERT_EQ(row.address, address);
  ASSERT_EQ(row.line, static_cast<uint32_t>(line));
  ASSERT_EQ(row.ends || last, ends || last);
  ASSERT_EQ(row.file, file);
}

TEST(LineRows, SameAsLibdwWhereNothingIsDiscarded) {
  size_t compared = 0;
  for (const std::string path : {TEPHRA_BINARY_DIR "/programs/nested_inlines", "/proc/self/exe"}) {
    const auto file = base::FileContent::open(path);
    const auto elf = ElfFile::parse(file->bytes());
    if (elf->section(".debug_line") == nullptr) continue;  // a build of the tests without debug information
    const auto dwarf = DwarfHandle::open(file->bytes(), {});
    ASSERT_TRUE(dwarf) << path;
    const LoadedCode anywhere((ElfFile()));
    for_each_program(dwarf->get(), [&](Dwarf_Die& root, uint64_t offset) {
      Dwarf_Lines* lines = nullptr;
      size_t count = 0;
      if (::dwarf_getsrclines(&root, &lines, &count) != 0) return;
      const auto rows = read_line_rows(lines_of(*elf), offset, anywhere);
      ASSERT_TRUE(rows);
      ASSERT_EQ(rows->size(), count);
      for (size_t i = 0; i < count; ++i) expect_row(::dwarf_onesrcline(lines, i), (*rows)[i], i + 1 == count);
      compared += count;
    });
  }
  EXPECT_GT(compared, 1000u);
}

// Two runs: one from 0 on, with lines 10 and 11, and one from 0x1000 on, with lines 20 and 21.
std::string two_runs() {
  BytesForTests header;
  header.u8(1).u8(1).u8(1).u8(0xfb).u8(14).u8(4).u8(0).u8(1).u8(1);
  BytesForTests program;
  for (const auto& [address, line] : {std::pair(0, 10), std::pair(0x1000, 20)}) {
    program.u8(0).uleb(9).u8(DW_LNE_set_address).u64(static_cast<uint64_t>(address));
    program.u8(DW_LNS_advance_line).sleb(line - 1).u8(DW_LNS_copy);
    program.u8(DW_LNS_advance_pc).uleb(0x1008).u8(DW_LNS_advance_line).sleb(1).u8(DW_LNS_copy);
    program.u8(DW_LNS_advance_pc).uleb(0x10).u8(0).uleb(1).u8(DW_LNE_end_sequence);
  }
  BytesForTests unit;
  unit.u16(4).u32(header.bytes().size()).text(header.bytes()).text(program.bytes());
  return BytesForTests().u32(unit.bytes().size()).text(unit.bytes()).bytes();
}

LoadedCode code_at_0x1000() {
  ElfForTests made;
  made.sections = {{".text", 0x1000, std::string(0x2000, '\x90'), true}};
  const std::string bytes = made.bytes();
  return LoadedCode(ElfFile::parse(base::as_bytes(bytes)).value());
}

TEST(LineRows, WithoutThoseOfDiscardedFunctions) {
  const std::string section = two_runs();
  const auto rows = read_line_rows(base::as_bytes(section), 0, code_at_0x1000());
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_EQ((*rows)[0].address, 0x1000u);
  EXPECT_EQ((*rows)[0].line, 20u);
  EXPECT_EQ((*rows)[1].address, 0x2008u);
  EXPECT_EQ((*rows)[1].line, 21u);
  EXPECT_TRUE((*rows)[2].ends);
  EXPECT_EQ(read_line_rows(base::as_bytes(section), 0, LoadedCode((ElfFile())))->size(), 6u);
}

TEST(LineRows, DamageDoesNoHarm) {
  const std::string whole = two_runs();
  const LoadedCode code = code_at_0x1000();
  size_t read = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\x00', '\x01', '\x7f', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = value;
      read += read_line_rows(base::as_bytes(damaged), 0, code).has_value();
    }
    EXPECT_FALSE(read_line_rows(base::as_bytes(whole.substr(0, at)), 0, code)) << at;
  }
  EXPECT_GT(read, 0u);
  EXPECT_FALSE(read_line_rows(base::as_bytes(whole), whole.size(), code));
}

}  // namespace
}  // namespace tephra::objects
