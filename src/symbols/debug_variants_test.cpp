// The same program with its debug information in every place and form: each must give the same names, lines and
// inlined calls as the plain file, which is compared with what LLVM says.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>

#include "objects/elf_file.h"
#include "objects/run_tool.h"
#include "symbols/code_object.h"
#include "symbols/file_finder.h"

namespace tephra::symbols {
namespace {

using objects::run_tool;
using objects::run_tool_lines;

constexpr const char* kFirstSource = R"(
#include <string>
#include <vector>
#include <algorithm>
#include <stdexcept>
namespace shapes {
struct Circle { double r; inline double area() const { return 3.14 * r * r; } };
template <class T> inline T scaled(T value, int by) { return value * by + static_cast<T>(by); }
namespace { inline int hidden(int n) { return n * 7 + 1; } }
}
int other(int n);
static int filtered(std::vector<int>& values, int limit) {
  auto below = [limit](const int& value, long extra) { return value + extra < limit; };
  auto any = [](auto value) { return value + 1; };
  int count = 0;
  for (int value : values) if (below(value, count)) count += any(value);
  if (count == 12345) throw std::runtime_error("unlikely " + std::to_string(count));
  return count;
}
__attribute__((noinline)) int work(int n) {
  std::vector<int> values;
  for (int i = 0; i < n; ++i) values.push_back(shapes::hidden(i) ^ shapes::scaled(i, 3));
  std::sort(values.begin(), values.end(), [](int a, int b) { return a > b; });
  shapes::Circle circle{static_cast<double>(n)};
  return filtered(values, n * 4) + static_cast<int>(circle.area()) + other(n);
}
int main(int argc, char**) { return work(argc + 100) & 1; }
)";
constexpr const char* kSecondSource = R"(
#include <map>
#include <string>
static inline int twice(int n) { return n * 2; }
static inline int deep(int n) { return twice(n) + twice(n + 1) * n; }
int other(int n) {
  std::map<std::string, int> counts;
  for (int i = 0; i < n; ++i) counts[std::to_string(i % 7)] += deep(i);
  int sum = 0;
  for (const auto& [name, count] : counts) sum += count + static_cast<int>(name.size());
  return sum;
}
)";

bool has_tool(const std::string& name) { return !run_tool("command -v " + name + " 2>/dev/null").empty(); }

class DebugVariants : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() / fmt::format("tephra-variants-{}-{}", ::getpid(), test->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "first.cpp") << kFirstSource;
    std::ofstream(folder_ / "second.cpp") << kSecondSource;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // What the shell prints on both streams, in the folder.
  std::string sh(const std::string& command) const {
    return run_tool(fmt::format("cd {} && ({}) 2>&1", folder_.string(), command));
  }
  // Builds "program" in a folder below, of objects that lie beside it.
  std::string build(const std::string& compiler, const std::string& flags, const std::string& name) const {
    const std::string out =
        sh(fmt::format("mkdir {2} && cd {2} && {0} -std=c++17 -O2 {1} -c ../first.cpp ../second.cpp && "
                       "{0} -std=c++17 -O2 -Wl,--build-id {1} first.o second.o -o program",
                       compiler, flags, name));
    EXPECT_EQ(out, "");
    return folder_ / name / "program";
  }

  std::filesystem::path folder_;
};

struct Line {
  std::string function;
  std::string file;
  uint32_t line = 0;
  bool operator==(const Line&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Line& line) {
  return out << line.function << " " << line.file << ":" << line.line;
}

// All that is known of each byte of the program's own functions.
class Answers {
 public:
  explicit Answers(const std::string& path, FinderOptions options = {}) : finder_(std::move(options)) {
    model::Reason why{};
    object_ = CodeObject::open(finder_, {path, {}, {}}, why);
  }

  bool opened() const { return object_ != nullptr; }
  std::vector<Line> at(uint64_t address) {
    std::vector<Line> lines;
    std::vector<objects::DebugInfo::Level> levels;
    object_->find_source(address, levels);
    for (const auto& level : levels) {
      lines.push_back({std::string(level.function), std::filesystem::path(level.file).filename(), level.line});
    }
    return lines;
  }
  std::string symbol_at(uint64_t address) const {
    const auto function = object_->function_at(address);
    return function ? std::string(function->name) : "";
  }
  const objects::ElfFile& elf() const { return object_->elf(); }
  std::vector<std::string> refusals() const { return finder_.refusals(); }

 private:
  FileFinder finder_;
  std::unique_ptr<CodeObject> object_;
};

struct Code {
  uint64_t begin = 0;
  uint64_t end = 0;
};

Code text_of(const std::string& path) {
  const auto file = base::FileContent::open(path);
  const auto elf = objects::ElfFile::parse(file->bytes());
  const auto* text = elf->section(".text");
  return {text->address, text->address + text->size};
}

// Both programs have the same code, so they must have the same answers.
void expect_same(const std::string& plain_path, const std::string& variant_path, FinderOptions options = {}) {
  Answers plain(plain_path);
  Answers variant(variant_path, std::move(options));
  ASSERT_TRUE(plain.opened() && variant.opened());
  const Code code = text_of(plain_path);
  ASSERT_EQ(code.end, text_of(variant_path).end);
  size_t inlined = 0;
  std::set<std::string> names;
  for (uint64_t address = code.begin; address < code.end; ++address) {
    const auto wanted = plain.at(address);
    ASSERT_EQ(wanted, variant.at(address)) << fmt::format("{:#x} of {}", address, variant_path);
    ASSERT_EQ(plain.symbol_at(address), variant.symbol_at(address)) << fmt::format("{:#x}", address);
    inlined += wanted.size() > 2;
    for (const Line& line : wanted) names.insert(line.function);
  }
  EXPECT_GT(inlined, 100u);
  EXPECT_GT(names.size(), 20u);
}

TEST_F(DebugVariants, LambdasHaveTheTypesOfTheirParameters) {
  const std::string program = build("g++", "-g", "plain");
  Answers answers(program);
  ASSERT_TRUE(answers.opened());
  const Code code = text_of(program);
  std::set<std::string> names;
  for (uint64_t address = code.begin; address < code.end; ++address) {
    for (const Line& line : answers.at(address)) names.insert(line.function);
  }
  EXPECT_TRUE(names.contains("filtered::{lambda(int const&, long)#1}::operator()"));
}

TEST_F(DebugVariants, ThePlainFileIsThatOfASecondReader) {
  // Not binutils' addr2line, whose release in Debian 12 takes wrong file names for DWARF 5.
  if (!has_tool("llvm-addr2line-14")) GTEST_SKIP() << "llvm-addr2line-14 is not installed";
  const std::string program = build("g++", "-g", "plain");
  Answers plain(program);
  ASSERT_TRUE(plain.opened());
  const Code code = text_of(program);
  std::string addresses;
  size_t count = 0;
  for (uint64_t address = code.begin; address < code.end; address += 7, ++count)
    addresses += fmt::format("{:#x}\n", address);
  std::ofstream(folder_ / "addresses") << addresses;
  const auto lines =
      run_tool_lines(fmt::format("llvm-addr2line-14 -a -i -e {} < {}", program, (folder_ / "addresses").string()));
  size_t compared = 0;
  uint64_t address = 0;
  std::vector<std::pair<uint64_t, std::vector<std::string>>> wanted;
  for (const std::string& line : lines) {
    if (line.starts_with("0x")) {
      address = std::strtoull(line.c_str(), nullptr, 16);
      wanted.push_back({address, {}});
    } else if (line.find('?') == std::string::npos) {
      wanted.back().second.push_back(std::filesystem::path(line.substr(0, line.find(" ("))).filename());
    }
  }
  EXPECT_EQ(wanted.size(), count);
  for (const auto& [place, texts] : wanted) {
    if (texts.empty()) continue;
    std::vector<std::string> ours;
    for (const Line& line : plain.at(place)) ours.insert(ours.begin(), fmt::format("{}:{}", line.file, line.line));
    EXPECT_EQ(ours, texts) << fmt::format("{:#x}", place);
    ++compared;
  }
  EXPECT_GT(compared, 100u);
}

TEST_F(DebugVariants, CompressedSections) {
  const std::string plain = build("g++", "-g", "plain");
  for (const std::string kind : {"zlib", "zlib-gnu", "zlib-gabi"}) {
    const std::string packed = folder_ / kind;
    if (!sh(fmt::format("objcopy --compress-debug-sections={} {} {}", kind, plain, packed)).empty()) continue;
    expect_same(plain, packed);
  }
  // One of them at least was compressed.
  EXPECT_NE(run_tool(fmt::format("readelf -tW {} | grep -c COMPRESSED", (folder_ / "zlib").string())), "0\n");
}

TEST_F(DebugVariants, SectionsCompressedByZstd) {
  const std::string plain = build("g++", "-g", "plain");
  for (const std::string tool : {"objcopy", "llvm-objcopy", "llvm-objcopy-18", "llvm-objcopy-17", "llvm-objcopy-16"}) {
    if (!has_tool(tool)) continue;
    if (!sh(fmt::format("{} --compress-debug-sections=zstd plain/program packed", tool)).empty()) continue;
    const auto file = base::FileContent::open(folder_ / "packed");
    const auto elf = objects::ElfFile::parse(file->bytes());
    const base::Bytes info = elf->section(".debug_info")->compressed_content;
    ASSERT_GT(info.size(), 24u);
    ASSERT_EQ(base::load<uint32_t>(info.data()), 2u);  // ELFCOMPRESS_ZSTD
    return expect_same(plain, folder_ / "packed");
  }
  GTEST_SKIP() << "no objcopy here compresses by zstd";
}

TEST_F(DebugVariants, SplitUnits) {
  for (const std::string compiler : {"g++", "clang++-14"}) {
    if (!has_tool(compiler)) continue;
    for (const std::string version : {"4", "5"}) {
      SCOPED_TRACE(compiler + " " + version);
      const std::string name = compiler + version;
      const std::string plain = build(compiler, "-gdwarf-" + version, name + "-plain");
      const std::string split = build(compiler, "-gsplit-dwarf -gdwarf-" + version, name + "-split");
      ASSERT_EQ(sh(fmt::format("ls {}/*.dwo | wc -l", name + "-split")), "2\n");
      expect_same(plain, split);
      // And compressed.
      sh(
          fmt::format("cp -r {0}-split {0}-packed && cd {0}-packed && "
                      "for f in *.dwo; do objcopy --compress-debug-sections=zlib $f; done",
                      name));
    }
  }
}

TEST_F(DebugVariants, SplitUnitsElsewhere) {
  const std::string plain = build("g++", "-g", "plain");
  const std::string split = build("g++", "-g -gsplit-dwarf", "split");
  // Beside the program, though it was built in another folder.
  sh("mkdir moved && mv split/program split/*.dwo moved/");
  expect_same(plain, folder_ / "moved/program");
  // Below a symfs that has the folder of the build.
  sh(fmt::format("mkdir -p sys/{0} && mv moved/*.dwo sys/{0}/", (folder_ / "split").string()));
  expect_same(plain, folder_ / "moved/program",
              {.symfs = folder_ / "sys", .binary_folders = {(folder_ / "moved").string()}});
}

TEST_F(DebugVariants, PackagesOfSplitUnits) {
  // Of GCC's DWARF 5 no packer here takes more than functions and lines: one crashes, and the other never ends.
  const std::vector<std::array<std::string, 3>> ways{{"g++", "4", "dwp"},
                                                     {"g++", "4", "llvm-dwp-14"},
                                                     {"g++", "5 -g1", "llvm-dwp-14"},
                                                     {"clang++-14", "4", "llvm-dwp-14"},
                                                     {"clang++-14", "5", "llvm-dwp-14"}};
  size_t compared = 0;
  for (const auto& [compiler, version, packer] : ways) {
    if (!has_tool(compiler) || !has_tool(packer)) continue;
    SCOPED_TRACE(fmt::format("{} {} {}", compiler, version, packer));
    const std::string name = compiler + version.substr(0, 1) + packer;
    const std::string plain = build(compiler, "-gdwarf-" + version, name + "-plain");
    const std::string split = build(compiler, "-gsplit-dwarf -gdwarf-" + version, name);
    const std::string out =
        sh(fmt::format("cd {} && timeout 60 {} -e program -o program.dwp && rm *.dwo", name, packer));
    EXPECT_EQ(out, "");
    if (!std::filesystem::exists(split + ".dwp")) continue;
    expect_same(plain, split);
    ++compared;
  }
  EXPECT_GT(compared, 0u);
}

TEST_F(DebugVariants, AnotherBuildsSplitUnitIsRefused) {
  const std::string split = build("g++", "-g -gsplit-dwarf", "split");
  sh("cp second.cpp kept.cpp && sed -i 's/% 7/% 9/' second.cpp");
  build("g++", "-g -gsplit-dwarf", "other");
  sh("cp other/second.dwo split/second.dwo");
  Answers answers(split);
  ASSERT_TRUE(answers.opened());
  const Code code = text_of(split);
  size_t known = 0;
  for (uint64_t address = code.begin; address < code.end; ++address) {
    for (const Line& line : answers.at(address)) {
      EXPECT_EQ(line.function.find("deep"), std::string::npos);
      known +=
          line.function == "_ZL8filteredRSt6vectorIiSaIiEEi" || line.function.find("filtered") != std::string::npos;
    }
  }
  EXPECT_GT(known, 0u);
  ASSERT_EQ(answers.refusals().size(), 1u);
  EXPECT_NE(answers.refusals()[0].find("second.dwo is of another build"), std::string::npos);
}

TEST_F(DebugVariants, WhatDwzMovedOut) {
  if (!has_tool("dwz")) GTEST_SKIP() << "dwz is not installed";
  const std::string plain = build("g++", "-g", "plain");
  sh("cp plain/program one && cp plain/program two && cp plain/program alone");
  ASSERT_EQ(sh("dwz alone"), "");
  expect_same(plain, folder_ / "alone");
  ASSERT_EQ(sh("dwz -m common.debug one two"), "");
  ASSERT_NE(sh("readelf -SW one | grep -c debugaltlink"), "0\n");
  expect_same(plain, folder_ / "one");
  // Found by its build id when it is not where the link says.
  const auto file = base::FileContent::open(folder_ / "common.debug");
  const std::string hex = model::BuildId(objects::ElfFile::parse(file->bytes())->build_id()).hex();
  sh(fmt::format("mkdir -p root/.build-id/{0} && mv common.debug root/.build-id/{0}/{1}.debug", hex.substr(0, 2),
                 hex.substr(2)));
  expect_same(plain, folder_ / "one", {.debug_roots = {(folder_ / "root").string()}});
  // Another file in its place is refused; a FIFO is not opened.
  sh("cp plain/program common.debug");
  Answers wrong(folder_ / "one");
  wrong.at(text_of(plain).begin);
  ASSERT_FALSE(wrong.refusals().empty());
  EXPECT_NE(wrong.refusals()[0].find("common.debug: not used: its build id is"), std::string::npos);
  sh("rm common.debug && mkfifo common.debug");
  Answers pipe(folder_ / "one");
  pipe.at(text_of(plain).begin);
  EXPECT_NE(pipe.refusals()[0].find("not a regular file"), std::string::npos);
}

TEST_F(DebugVariants, LinkedDebugFiles) {
  const std::string plain = build("g++", "-g", "plain");
  sh("cp plain/program stripped && objcopy --only-keep-debug stripped stripped.debug && strip stripped && "
     "objcopy --add-gnu-debuglink=stripped.debug stripped");
  expect_same(plain, folder_ / "stripped");
  // Without a build id the checksum decides.
  const std::string bare = build("g++", "-g -Wl,--build-id=none", "bare");
  sh("cp bare/program link && objcopy --only-keep-debug link link.debug && strip link && "
     "objcopy --add-gnu-debuglink=link.debug link");
  expect_same(bare, folder_ / "link");
  sh("echo >> link.debug");
  Answers changed(folder_ / "link");
  EXPECT_TRUE(changed.at(text_of(bare).begin).empty());
  ASSERT_FALSE(changed.refusals().empty());
  EXPECT_NE(changed.refusals()[0].find("checksum"), std::string::npos);
}

// Linkers leave the debug information of functions in that they leave out, at address 0. In a program that can be
// loaded anywhere they reach over its first functions.
TEST_F(DebugVariants, DiscardedFunctionsHideNothing) {
  std::ofstream source(folder_ / "discarded.cpp");
  source << "volatile unsigned sink;\n__attribute__((noinline)) void unused() {\n";
  for (int i = 0; i < 1500; ++i) source << "  sink = sink * " << 2 * i + 3 << "u;\n";
  source << R"(}
__attribute__((always_inline)) static inline void wanted_inline() { sink = sink * 3u; sink = sink ^ 5u; }
__attribute__((noinline)) void holder() { for (int i = 0; i < 9; ++i) wanted_inline(); }
int main() { holder(); }
)";
  source.close();
  for (const std::string flags :
       {"-pie -fPIE", "-pie -fPIE -gdwarf-4", "-pie -fPIE -Wl,-z,noseparate-code", "-no-pie"}) {
    SCOPED_TRACE(flags);
    ASSERT_EQ(sh(fmt::format("g++ -O1 -g -ffunction-sections -Wl,--gc-sections {} discarded.cpp -o discarded", flags)),
              "");
    ASSERT_EQ(sh("nm -C discarded | grep -c 'unused()'"), "0\n");
    Answers answers(folder_ / "discarded");
    ASSERT_TRUE(answers.opened());
    const Code code = text_of(folder_ / "discarded");
    size_t inlined = 0;
    for (uint64_t address = code.begin; address < code.end; ++address) {
      for (const Line& line : answers.at(address)) {
        EXPECT_EQ(line.function.find("unused"), std::string::npos) << fmt::format("{:#x}", address);
        if (line.function.find("wanted_inline") == std::string::npos) continue;
        ++inlined;
        EXPECT_GT(line.line, 1500u) << fmt::format("{:#x}", address);
      }
    }
    EXPECT_GT(inlined, 5u);
  }
}

// A stripped copy has the build id, too.
TEST_F(DebugVariants, AStrippedCopyHidesNoDebugFile) {
  const std::string plain = build("g++", "-g", "plain");
  sh("cp plain/program stripped && objcopy --only-keep-debug stripped stripped.debug && strip stripped && "
     "objcopy --add-gnu-debuglink=stripped.debug stripped");
  const auto file = base::FileContent::open(plain);
  const std::string hex = model::BuildId(objects::ElfFile::parse(file->bytes())->build_id()).hex();
  sh(fmt::format("mkdir -p bins/{0} && cp stripped bins/{0}/program", hex));
  const FinderOptions options{.binary_folders = {(folder_ / "bins").string()}};
  expect_same(plain, folder_ / "stripped", options);
  // Nor does one that was stripped of debug information alone.
  sh(fmt::format("cp plain/program bins/{0}/program && strip -g bins/{0}/program", hex));
  expect_same(plain, folder_ / "stripped", options);
  // Where there is no other, its symbols are better than nothing.
  sh("rm stripped.debug");
  Answers symbols(folder_ / "stripped", options);
  const uint64_t work = std::strtoull(sh("nm plain/program | grep ' T _Z4worki'").c_str(), nullptr, 16);
  EXPECT_EQ(symbols.symbol_at(work), "_Z4worki");
}

// Of files without a build id at one path, one after the other, each has its own debug file.
TEST_F(DebugVariants, DebugFilesOfUnmarkedProgramsAreNotMixedUp) {
  const std::string first = build("g++", "-g -Wl,--build-id=none", "first");
  sh("cp second.cpp kept.cpp && sed -i 's/% 7/% 9/; s/deep/other_name/g' second.cpp");
  const std::string second = build("g++", "-g -Wl,--build-id=none", "second");
  for (const std::string name : {"first", "second"}) {
    sh(
        fmt::format("objcopy --only-keep-debug {0}/program {0}.debug && strip {0}/program && "
                    "objcopy --add-gnu-debuglink={0}.debug {0}/program",
                    name));
  }
  FileFinder finder({.debug_roots = {}});
  const auto debug_file_of = [&](const std::string& path, uint64_t inode) {
    const auto file = base::FileContent::open(path);
    const auto elf = objects::ElfFile::parse(file->bytes());
    return finder.find_debug({folder_ / "program", {}, {1, inode, 0}}, *elf).path;
  };
  EXPECT_EQ(debug_file_of(first, 1), folder_ / "first.debug");
  EXPECT_EQ(debug_file_of(second, 2), folder_ / "second.debug");
}

TEST_F(DebugVariants, EmbeddedSymbols) {
  if (!has_tool("xz")) GTEST_SKIP() << "xz is not installed";
  const std::string plain = build("g++", "-g", "plain");
  // As distributions make it: the functions that are not in .dynsym, without debug information.
  sh("cp plain/program mini && nm -D mini --format=posix --defined-only | awk '{print $1}' | sort > dynamic; "
     "nm mini --format=posix --defined-only | awk '$2 ~ /[TtDd]/ {print $1}' | sort > all; "
     "comm -13 dynamic all > keep; objcopy --only-keep-debug mini mini.debug; "
     "objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=keep mini.debug inner; "
     "strip mini; xz -k inner; objcopy --add-section .gnu_debugdata=inner.xz mini");
  Answers wanted(plain);
  Answers mini(folder_ / "mini");
  ASSERT_TRUE(mini.opened());
  ASSERT_EQ(mini.elf().section(".symtab"), nullptr);
  const Code code = text_of(plain);
  size_t same = 0;
  for (uint64_t address = code.begin; address < code.end; ++address) {
    if (mini.symbol_at(address).empty()) continue;
    same += mini.symbol_at(address) == wanted.symbol_at(address);
  }
  EXPECT_GT(same, 1000u);
}

}  // namespace
}  // namespace tephra::symbols
