// Symbols, source lines and call frames of real files, against what binutils say about the same files.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>

#include "base/file.h"
#include "objects/call_frames.h"
#include "objects/crc32.h"
#include "objects/debug_info.h"
#include "objects/elf_file.h"
#include "objects/run_tool.h"
#include "objects/symbol_table.h"

namespace tephra::objects {
namespace {

const std::string kProgram = TEPHRA_BINARY_DIR "/programs/nested_inlines";

// A file that is kept open, and its headers.
struct Opened {
  explicit Opened(const std::string& path) : file(base::FileContent::open(path).value()) {
    elf = ElfFile::parse(file.bytes()).value();
  }
  base::FileContent file;
  ElfFile elf;
};

// Where this process has a shared library, by a part of its name.
std::string library(const std::string& part) {
  for (const std::string& line : run_tool_lines("cat /proc/" + std::to_string(::getpid()) + "/maps")) {
    if (line.find(part) != std::string::npos) return line.substr(line.find('/'));
  }
  return {};
}

SymbolTable symbols_of(const ElfFile& elf) {
  SymbolTable symbols;
  symbols.add(elf);
  symbols.add_plt(elf);
  symbols.finish();
  return symbols;
}

// Checks every function that `nm` lists: its name, or another one at the same address, is found at both its ends.
void expect_same_as_nm(const std::string& path, const std::string& options, size_t at_least) {
  const Opened opened(path);
  const SymbolTable symbols = symbols_of(opened.elf);
  std::map<uint64_t, std::set<std::string>> names;
  std::map<uint64_t, uint64_t> sizes;
  for (const std::string& line : run_tool_lines("nm -S --defined-only " + options + " " + path)) {
    char name[4096];
    char kind = 0;
    uint64_t address = 0;
    uint64_t size = 0;
    if (std::sscanf(line.c_str(), "%lx %lx %c %4095s", &address, &size, &kind, name) != 4) continue;
    if (std::string("tTwWi").find(kind) == std::string::npos || size == 0) continue;
    names[address].insert(std::string(name).substr(0, std::string(name).find('@')));
    sizes[address] = std::max(sizes[address], size);
  }
  EXPECT_GE(names.size(), at_least);
  for (const auto& [address, wanted] : names) {
    for (const uint64_t place : {address, address + sizes[address] - 1}) {
      const auto function = symbols.find(place);
      ASSERT_TRUE(function) << *wanted.begin();
      if (function->address != address) continue;  // nested in it
      const std::string found(function->name.substr(0, function->name.find('@')));
      EXPECT_TRUE(wanted.contains(found)) << fmt::format("{:x} {} {}", place, found, *wanted.begin());
    }
  }
}

TEST(ElfFile, BuildIdIsThatOfReadelf) {
  for (const std::string& path : {kProgram, library("libc.so"), library("libstdc++.so")}) {
    const Opened opened(path);
    std::string hex;
    for (const std::byte byte : opened.elf.build_id()) hex += fmt::format("{:02x}", static_cast<unsigned>(byte));
    EXPECT_NE(run_tool("readelf -n " + path).find("Build ID: " + hex + "\n"), std::string::npos) << path;
    EXPECT_GE(hex.size(), 16u);
  }
}

TEST(ElfFile, OffsetsAndAddressesGoBothWays) {
  const Opened opened(library("libstdc++.so"));
  const auto* text = opened.elf.section(".text");
  ASSERT_NE(text, nullptr);
  const auto offset = opened.elf.offset_of_address(text->address + 100);
  ASSERT_TRUE(offset);
  EXPECT_EQ(opened.file.bytes().data() + *offset, text->content.data() + 100);
  EXPECT_EQ(opened.elf.address_of_offset(*offset), text->address + 100);
  EXPECT_FALSE(opened.elf.address_of_offset(UINT64_MAX));
}

TEST(SymbolTable, SameNamesAsNm) {
  expect_same_as_nm(kProgram, "", 4);
  expect_same_as_nm(library("libc.so"), "-D", 1000);
  expect_same_as_nm(library("libstdc++.so"), "-D", 3000);
}

SymbolTable variables_of(const ElfFile& elf) {
  SymbolTable variables(SymbolTable::Holds::kData);
  variables.add(elf);
  variables.finish();
  return variables;
}

uint64_t address_in(const std::string& path, const std::string& name) {
  for (const std::string& line : run_tool_lines("nm " + path + " | grep ' " + name + "$'")) {
    return std::strtoull(line.c_str(), nullptr, 16);
  }
  return 0;
}

TEST(VariableTable, KnowsThoseWithAndWithoutBytesInTheFile) {
  const std::string path = TEPHRA_BINARY_DIR "/programs/named_locks";
  const Opened opened(path);
  const SymbolTable variables = variables_of(opened.elf);
  for (const std::string name : {"queue_mutex", "_ZN7company5queueE"}) {
    const uint64_t address = address_in(path, name);
    ASSERT_NE(address, 0u) << name;
    for (const uint64_t offset : {0, 8, 39}) {
      const auto found = variables.find(address + offset);
      ASSERT_TRUE(found) << name;
      EXPECT_EQ(found->name, name);
      EXPECT_EQ(found->address, address);
    }
    const auto behind = variables.find(variables.find(address)->end);
    EXPECT_TRUE(!behind || behind->name != name);
  }
  EXPECT_FALSE(variables.find(address_in(path, "main")));
  EXPECT_FALSE(symbols_of(opened.elf).find(address_in(path, "queue_mutex")));
}

TEST(VariableTable, HasTheObjectsOfReadelfAndNoneOfThreads) {
  const std::string path = library("libc.so");
  const Opened opened(path);
  const SymbolTable variables = variables_of(opened.elf);
  std::map<uint64_t, std::set<std::string>> names;
  for (const std::string& line : run_tool_lines("readelf -W --dyn-syms " + path)) {
    char type[32];
    char index[32];
    char name[256];
    uint64_t address = 0;
    uint64_t size = 0;
    if (std::sscanf(line.c_str(), "%*d: %lx %lu %31s %*s %*s %31s %255s", &address, &size, type, index, name) != 5) {
      continue;
    }
    if (std::string(type) != "OBJECT" || size == 0 || std::string(index) == "ABS") continue;
    names[address].insert(std::string(name).substr(0, std::string(name).find('@')));
  }
  EXPECT_GT(names.size(), 30u);
  for (const auto& [address, wanted] : names) {
    const auto found = variables.find(address);
    ASSERT_TRUE(found) << *wanted.begin();
    EXPECT_TRUE(wanted.contains(std::string(found->name))) << found->name;
  }
  size_t of_threads = 0;
  for (const std::string& line : run_tool_lines("readelf -W --dyn-syms " + path + " | grep ' TLS '"))
    of_threads += !line.empty();
  EXPECT_GT(of_threads, 0u);
  EXPECT_FALSE(variables.find(0x10));  // where those of threads would be
}

TEST(SymbolTable, NamesStubsOfTheLinkageTable) {
  const Opened opened(library("libstdc++.so"));
  const SymbolTable symbols = symbols_of(opened.elf);
  size_t checked = 0;
  // objdump names the stubs by their relocations, too.
  for (const std::string& line :
       run_tool_lines("objdump -d -j .plt -j .plt.sec " + library("libstdc++.so") + " 2>/dev/null | grep '@plt>:$'")) {
    const uint64_t address = std::strtoull(line.c_str(), nullptr, 16);
    const std::string name = line.substr(line.find('<') + 1, line.rfind('>') - line.find('<') - 1);
    if (name.starts_with("*ABS*")) continue;
    const auto function = symbols.find(address);
    ASSERT_TRUE(function) << line;
    EXPECT_EQ(function->name, name);
    ++checked;
  }
  EXPECT_GT(checked, 100u);
}

TEST(DebugInfo, SameLinesAndInlinedCallsAsAddr2line) {
  const Opened opened(kProgram);
  const auto info = DebugInfo::open(opened.file.bytes());
  ASSERT_TRUE(info);
  const auto function = [&] {
    const SymbolTable symbols = symbols_of(opened.elf);
    for (const std::string& line : run_tool_lines("nm " + kProgram + " | grep _ZN4nest6holderEi")) {
      return *symbols.find(std::strtoull(line.c_str(), nullptr, 16));
    }
    return SymbolTable::Function{};
  }();
  ASSERT_NE(function.address, 0u);
  std::vector<DebugInfo::Level> levels;
  size_t deepest = 0;
  for (uint64_t address = function.address; address < function.end; ++address) {
    info->find(address, levels);
    const auto wanted = run_tool_lines(fmt::format("addr2line -i -f -e {} {:#x}", kProgram, address));
    ASSERT_EQ(levels.size() * 2, wanted.size()) << fmt::format("{:#x}", address);
    for (size_t i = 0; i < levels.size(); ++i) {
      const auto& level = levels[levels.size() - 1 - i];
      // binutils name a function without a linkage name by its last part, or by the function that it is inlined into.
      if (level.function != "nest::(anonymous namespace)::middle") {
        EXPECT_EQ(level.function, wanted[i * 2]);
      }
      const std::string line = wanted[i * 2 + 1].substr(0, wanted[i * 2 + 1].find(" (disc"));
      EXPECT_EQ(fmt::format("{}:{}", level.file, level.line == 0 ? "?" : std::to_string(level.line)), line);
    }
    deepest = std::max(deepest, levels.size());
  }
  // holder, Outer::apply, its lambda, middle, innermost.
  EXPECT_EQ(deepest, 5u);
}

TEST(DebugInfo, NothingInAFileWithoutIt) {
  const Opened opened(library("libc.so"));
  EXPECT_FALSE(opened.elf.has_debug_info());
  const auto info = DebugInfo::open(opened.file.bytes());
  std::vector<DebugInfo::Level> levels(1);
  if (info) info->find(opened.elf.section(".text")->address, levels);
  EXPECT_TRUE(!info || levels.empty());
}

uint64_t address_of(const std::string& path, const std::string& options, const std::string& name) {
  const auto lines = run_tool_lines(fmt::format("nm {} --defined-only {} | grep -E ' {}(@.*)?$'", options, path, name));
  return lines.empty() ? 0 : std::strtoull(lines[0].c_str(), nullptr, 16);
}

TEST(CallFrames, ProgramEntryIsOutermost) {
  const Opened opened(kProgram);
  const CallFrames frames(opened.elf);
  const uint64_t start = address_of(kProgram, "", "_start");
  ASSERT_NE(start, 0u);
  const auto facts = frames.find(start + 8);
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->outermost);
  EXPECT_EQ(facts->function_start, start);
}

TEST(CallFrames, FrameIsSetUpInTheBodyAndNotAtTheEnds) {
  const Opened opened(kProgram);
  const CallFrames frames(opened.elf);
  const uint64_t begin = address_of(kProgram, "", "_ZN4nest6holderEi");
  const auto end = symbols_of(opened.elf).find(begin)->end;
  const auto set_up = [&](uint64_t address) { return frames.find(address)->frame_is_set_up; };
  EXPECT_FALSE(set_up(begin));
  EXPECT_TRUE(set_up((begin + end) / 2));
  bool returns = false;
  for (uint64_t address = (begin + end) / 2; address < end; ++address) returns = returns || !set_up(address);
  EXPECT_TRUE(returns);  // after the frame was taken down
  EXPECT_FALSE(frames.find((begin + end) / 2)->outermost);
  EXPECT_EQ(frames.find(end - 1)->function_start, begin);
  EXPECT_FALSE(frames.find(UINT64_MAX));
  EXPECT_FALSE(frames.find(0));
}

TEST(CallFrames, AgreesWithReadelfOnEveryRowOfTheCLibrary) {
  const std::string path = library("libc.so");
  const Opened opened(path);
  const CallFrames frames(opened.elf);
  size_t rows = 0;
  size_t outermost = 0;
  std::vector<std::string> columns;
  for (const std::string& line : run_tool_lines("readelf --debug-dump=frames-interp " + path + " 2>/dev/null")) {
    if (line.find("   LOC") == 0) {
      columns.clear();
      for (size_t at = 0; (at = line.find_first_not_of(' ', at)) != std::string::npos;) {
        const size_t end = std::min(line.find(' ', at), line.size());
        columns.push_back(line.substr(at, end - at));
        at = end;
      }
      continue;
    }
    if (line.size() < 20 || line[0] == ' ' || line.find(' ') != 16 || columns.empty() || line[17] == '0') continue;
    const uint64_t address = std::strtoull(line.c_str(), nullptr, 16);
    const auto facts = frames.find(address);
    if (address == 0 || !facts) continue;
    const std::string cfa = line.substr(17, line.find(' ', 17) - 17);
    EXPECT_EQ(facts->frame_is_set_up, cfa.starts_with("rbp+")) << line;
    const std::string last = line.substr(line.find_last_not_of(' '), 1);
    if (columns.back() == "ra") {
      EXPECT_EQ(facts->outermost, last == "u") << line;
      outermost += last == "u" ? 1 : 0;
    }
    ++rows;
  }
  EXPECT_GT(rows, 10000u);
  EXPECT_GT(outermost, 0u);  // clone, clone3
}

TEST(Crc32, KnownValues) {
  EXPECT_EQ(crc32(base::as_bytes("")), 0u);
  EXPECT_EQ(crc32(base::as_bytes("123456789")), 0xcbf43926u);
  EXPECT_EQ(crc32(base::as_bytes("The quick brown fox jumps over the lazy dog")), 0x414fa339u);
}

// Reads all there is in a file. What is found does not matter, only that it ends well.
size_t read_everything(base::Bytes file) {
  const auto elf = ElfFile::parse(file);
  if (!elf) return 0;
  const SymbolTable symbols = symbols_of(*elf);
  const SymbolTable variables = variables_of(*elf);
  const CallFrames frames(*elf);
  const auto info = DebugInfo::open(file);
  std::vector<DebugInfo::Level> levels;
  size_t found = symbols.size() + variables.size();
  for (const auto& section : elf->sections()) {
    for (uint64_t i = 0; i < 32; ++i) {
      const uint64_t address = section.address + section.size / 32 * i;
      found += symbols.find(address).has_value() ? 1 : 0;
      found += variables.find(address).has_value() ? 1 : 0;
      found += frames.find(address).has_value() ? 1 : 0;
      if (info) info->find(address, levels);
      found += levels.size();
    }
  }
  return found;
}

TEST(HostileFiles, CutAnywhere) {
  const Opened opened(kProgram);
  const base::Bytes whole = opened.file.bytes();
  ASSERT_GT(read_everything(whole), 100u);
  size_t partial = 0;
  for (size_t size = 0; size < whole.size(); size += size < 512 ? 1 : whole.size() / 100) {
    const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    partial += read_everything(part) > 0 ? 1 : 0;
  }
  EXPECT_GT(partial, 0u);  // the segments alone still give call frames
}

// Sets a few random bytes of the parts of the program to random values, many times. Another --gtest_random_seed gives
// other damage.
size_t read_damaged(int rounds, const std::vector<std::pair<size_t, size_t>>& parts) {
  const Opened opened(kProgram);
  const base::Bytes whole = opened.file.bytes();
  std::mt19937 random(static_cast<unsigned>(7 + testing::UnitTest::GetInstance()->random_seed()));
  size_t read = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::byte> damaged(whole.begin(), whole.end());
    for (int i = 0; i < 4; ++i) {
      const auto [begin, size] = parts[random() % parts.size()];
      damaged[begin + random() % size] = static_cast<std::byte>(random() % 4 == 0 ? 0xff : random());
    }
    read += read_everything(damaged) > 0 ? 1 : 0;
  }
  return read;
}

TEST(HostileFiles, DamagedHeaders) {
  const size_t size = Opened(kProgram).file.bytes().size();
  EXPECT_GT(read_damaged(200, {{16, 48}, {size - 2500, 2500}}), 0u);
}

TEST(HostileFiles, DamagedSections) {
  const Opened opened(kProgram);
  std::vector<std::pair<size_t, size_t>> parts;
  for (const auto& section : opened.elf.sections()) {
    const bool matters = section.name.starts_with(".debug") || section.name.starts_with(".eh_frame") ||
                         section.name == ".symtab" || section.name == ".dynsym" || section.name.starts_with(".rela");
    if (!matters || section.content.empty()) continue;
    parts.emplace_back(section.content.data() - opened.file.bytes().data(), section.content.size());
  }
  ASSERT_GE(parts.size(), 8u);
  EXPECT_EQ(read_damaged(300, parts), 300u);
}

}  // namespace
}  // namespace tephra::objects
