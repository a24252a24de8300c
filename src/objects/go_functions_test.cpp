// The table that Go programs carry: of made-up programs in every layout, and of real ones against Go's own tools.
#include "objects/go_functions.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/file.h"
#include "objects/cfi_for_tests.h"
#include "objects/go_table_for_tests.h"
#include "objects/run_tool.h"

namespace tephra::objects {
namespace {

std::string describe(const GoFunctions& functions, uint64_t address) {
  std::vector<DebugInfo::Level> levels;
  functions.find(address, levels);
  std::string text;
  for (const auto& level : levels) text += fmt::format("{} {}:{};", level.function, level.file, level.line);
  return text;
}

// Go prints what stands in brackets as "...": the shapes of type parameters, and lengths of arrays.
std::string without_brackets(std::string_view name) {
  std::string text;
  int depth = 0;
  for (const char c : name) {
    if (c == ']') --depth;
    if (depth == 0) text += c;
    if (c == '[' && depth++ == 0) text += "...";
  }
  return text;
}

class GoLayouts : public testing::TestWithParam<int> {};

TEST_P(GoLayouts, NamesLinesAndInlinedCalls) {
  const std::string file = GoTableForTests(GetParam()).file();
  const ElfFile elf = ElfFile::parse(base::as_bytes(file)).value();
  const auto functions = GoFunctions::open(elf);
  ASSERT_TRUE(functions);
  EXPECT_EQ(functions->size(), 2u);
  EXPECT_EQ(describe(*functions, 0x401000), "main.caller /src/a.go:10;");
  EXPECT_EQ(describe(*functions, 0x401020), "main.caller /src/a.go:11;main.middle /src/a.go:21;");
  EXPECT_EQ(describe(*functions, 0x401030),
            "main.caller /src/a.go:11;main.middle /src/a.go:21;main.inner /src/b.go:31;");
  EXPECT_EQ(describe(*functions, 0x4010ff), "main.caller /src/a.go:12;");
  EXPECT_EQ(describe(*functions, 0x4011ff), "main.leaf /src/a.go:40;");
  EXPECT_EQ(describe(*functions, 0x401200), "");
  EXPECT_EQ(describe(*functions, 0x400fff), "");
  EXPECT_EQ(functions->function_at(0x401180)->address, 0x401100u);
  EXPECT_EQ(functions->function_at(0x401180)->end, 0x401200u);
}

// Every byte of the table in turn, and every length of the file.
TEST_P(GoLayouts, DamageDoesNoHarm) {
  const std::string whole = GoTableForTests(GetParam()).file();
  const auto ask = [](const std::string& file) {
    const auto elf = ElfFile::parse(base::as_bytes(file));
    if (!elf) return;
    const auto functions = GoFunctions::open(*elf);
    for (uint64_t address = 0x400ff0; functions && address < 0x401210; address += 8) describe(*functions, address);
  };
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const char value : {'\x00', '\x7f', '\xff'}) {
      std::string file = whole;
      file[i] = value;
      ask(file);
    }
    ask(whole.substr(0, i));
  }
}

// A program that can be loaded anywhere: the words of its description of itself are relocations.
std::string relocated_file(int release, size_t decoys) {
  constexpr uint64_t kBase = GoTableForTests::kBase;
  const std::string file = GoTableForTests(release).file();
  BytesForTests rows;
  const auto relocate = [&](uint64_t place, uint64_t value) { rows.u64(place).u64(R_X86_64_RELATIVE).u64(value); };
  // Words that point to the table and are of no description.
  for (size_t i = 0; i < decoys; ++i) relocate(0x10, kBase + 0x100);
  const auto word = [&](size_t index) { return base::load<uint64_t>(base::as_bytes(file).data() + 0x900 + index * 8); };
  for (const size_t index : {size_t{40}, size_t{38}, size_t{22}, size_t{0}}) {
    if (word(index) != 0) relocate(kBase + 0x900 + index * 8, word(index));
  }
  ElfForTests elf;
  elf.sections = {{".gopclntab", kBase + 0x100, file.substr(0x100, 0x700)},
                  {".rodata", kBase + 0x800, file.substr(0x800, 0x100)},
                  {".data", kBase + 0x900, std::string(48 * 8, '\0')},
                  {".rela.dyn", 0, rows.bytes(), false, 0, SHT_RELA}};
  return elf.bytes();
}

// Go 1.16 had addresses in the table itself.
TEST(GoRelocations, Descriptions) {
  for (const int release : {18, 20}) {
    const std::string file = relocated_file(release, 3);
    const ElfFile elf = ElfFile::parse(base::as_bytes(file)).value();
    const auto functions = GoFunctions::open(elf);
    ASSERT_TRUE(functions) << release;
    EXPECT_EQ(describe(*functions, 0x401030),
              "main.caller /src/a.go:11;main.middle /src/a.go:21;main.inner /src/b.go:31;");
  }
}

// Every relocation points to the table, so that each could be that of the description. To look at all the others for
// each of them would take hours.
TEST_P(GoLayouts, RelocationsThatAllPointToTheTable) {
  const std::string file = relocated_file(GetParam(), 1 << 21);
  const ElfFile elf = ElfFile::parse(base::as_bytes(file)).value();
  const auto functions = GoFunctions::open(elf);
  ASSERT_TRUE(functions);
  EXPECT_EQ(describe(*functions, 0x4011ff), "main.leaf /src/a.go:40;");
}

INSTANTIATE_TEST_SUITE_P(Releases, GoLayouts, testing::Values(16, 18, 20));

constexpr const char* kSource = R"(package main
import ("fmt"; "os"; "sort"; "strings")
type pair[T any] struct { a, b T }
func (p *pair[T]) swap() { p.a, p.b = p.b, p.a }
func mixed(x uint64) uint64 { x ^= x >> 31
	return scramble(x * 0x9e3779b97f4a7c15) + 1 }
func scramble(x uint64) uint64 { x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	return x ^ x>>32 }
//go:noinline
func spin(n int) uint64 { sum := uint64(1)
	for i := 0; i < n; i++ { sum = mixed(sum + uint64(i)) }
	return sum }
func main() {
	parts := strings.Split(os.Args[0], "/")
	sort.Slice(parts, func(i, j int) bool { return parts[i] < parts[j] })
	p := &pair[int]{1, 2}
	p.swap()
	fmt.Println(spin(len(parts)), parts, p)
}
)";

// A real program, built once with symbols and debug information and once without.
class GoPrograms : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::system("go version > /dev/null 2>&1") != 0) GTEST_SKIP() << "Go is not installed";
    folder_ = testing::TempDir() + "tephra-go-" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
    ASSERT_TRUE(base::write_file(folder_ + "/main.go", kSource));
    ASSERT_TRUE(build("", "whole") && build("-s -w", "stripped")) << "go build failed";
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  bool build(const std::string& linker_flags, const std::string& name) const {
    const std::string command = fmt::format(
        "cd {0} && HOME={0} GO111MODULE=off CGO_ENABLED=0 go build {1} -ldflags='{2}' -o {3} main.go > log 2>&1",
        folder_, GetParam(), linker_flags, name);
    return std::system(command.c_str()) == 0;
  }
  std::string folder_;
};

TEST_P(GoPrograms, SameFunctionsLinesAndInlinedCallsAsGoTells) {
  const auto stripped_file = base::FileContent::open(folder_ + "/stripped").value();
  const auto whole_file = base::FileContent::open(folder_ + "/whole").value();
  const ElfFile stripped = ElfFile::parse(stripped_file.bytes()).value();
  const auto functions = GoFunctions::open(stripped);
  ASSERT_TRUE(functions);
  const auto info = DebugInfo::open(whole_file.bytes());
  ASSERT_TRUE(info);

  // Functions, as the linker listed them. Assembly symbols may carry their calling convention.
  std::map<uint64_t, std::string> symbols;
  size_t same = 0;
  for (const std::string& line : run_tool_lines("go tool nm -type " + folder_ + "/whole")) {
    char name[4096];
    char kind = 0;
    uint64_t address = 0;
    if (std::sscanf(line.c_str(), "%lx %c %4095[^\n]", &address, &kind, name) != 3) continue;
    if (kind != 'T' && kind != 't') continue;
    const auto function = functions->function_at(address);
    if (!function || function->address != address) continue;
    std::string wanted = name;
    wanted.resize(std::min(wanted.size(), wanted.find(" func(")));
    if (wanted.ends_with(".abi0")) wanted.resize(wanted.size() - 5);
    if (wanted == "runtime.text") continue;
    EXPECT_TRUE(wanted == function->name || without_brackets(wanted) == function->name)
        << fmt::format("{:x}: {} is {}", address, name, function->name);
    ++same;
    symbols[address] = name;
  }
  EXPECT_GT(same, 1000u);

  // Lines and inlined calls, as its debug information has them.
  std::vector<DebugInfo::Level> ours;
  std::vector<DebugInfo::Level> theirs;
  size_t inlined = 0;
  size_t asked = 0;
  size_t different = 0;
  for (const auto& [address, name] : symbols) {
    const auto function = functions->function_at(address);
    for (uint64_t at = address; at < function->end; at += 5) {
      info->find(at, theirs);
      functions->find(at, ours);
      if (theirs.empty() || theirs.front().function.empty()) continue;
      ++asked;
      inlined += ours.size() > 1;
      bool equal = ours.size() == theirs.size();
      for (size_t i = 0; equal && i < ours.size(); ++i) {
        equal = ours[i].line == theirs[i].line && ours[i].file == theirs[i].file;
      }
      different += !equal;
    }
  }
  EXPECT_GT(asked, 50000u);
  EXPECT_GT(inlined, 5000u);
  // The compiler describes a few instructions differently to its two readers.
  EXPECT_LT(different, asked / 50) << asked;

  // Go's own tool, which knows no position-independent programs.
  if (*GetParam() != '\0') return;
  std::vector<uint64_t> addresses;
  std::string input;
  const ElfFile::Section* text = stripped.section(".text");
  for (uint64_t at = 0; at < text->size; at += 257) {
    if (!functions->function_at(text->address + at)) continue;
    addresses.push_back(text->address + at);
    input += fmt::format("{:#x}\n", addresses.back());
  }
  ASSERT_TRUE(base::write_file(folder_ + "/addresses", input));
  const auto lines = run_tool_lines(fmt::format("go tool addr2line {0}/whole < {0}/addresses", folder_));
  EXPECT_GT(addresses.size(), 1000u);
  ASSERT_EQ(lines.size(), addresses.size() * 2);
  for (size_t i = 0; i < addresses.size(); ++i) {
    functions->find(addresses[i], ours);
    ASSERT_FALSE(ours.empty());
    const std::string place = ours.back().line == 0 ? ":-1" : fmt::format("{}:{}", ours.back().file, ours.back().line);
    EXPECT_EQ(lines[i * 2 + 1], place) << lines[i * 2];
    EXPECT_TRUE(lines[i * 2] == ours.front().function || without_brackets(lines[i * 2]) == ours.front().function)
        << lines[i * 2] << " is " << ours.front().function;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, GoPrograms, testing::Values("", "-buildmode=pie"));

}  // namespace
}  // namespace tephra::objects
