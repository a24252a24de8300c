#include "symbols/symbolize.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "model/lock_places.h"
#include "model/profile_assembler.h"
#include "objects/elf_file.h"
#include "objects/run_tool.h"
#include "objects/symbol_table.h"
#include "symbols/code_object.h"
#include "symbols/file_finder.h"
#include "symbols/kernel_answers.h"
#include "symbols/vdso.h"

namespace tephra::symbols {
namespace {

using model::AddressKind;
using model::CodeKind;
using model::FrameId;
using model::Profile;
using model::Reason;
using model::StackId;
using objects::run_tool;
using objects::run_tool_lines;

const std::string kProgram = TEPHRA_BINARY_DIR "/programs/nested_inlines";

// A folder of its own for each test.
class Symbolize : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("tephra-symbols-{}", ::getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string in_folder(const std::string& name) const { return folder_ / name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(in_folder(name)) << text;
    return in_folder(name);
  }

  std::filesystem::path folder_;
};

// A profile of one stack, outermost address first; all addresses are of one mapping.
Profile profile_of(const std::string& path, const std::vector<uint64_t>& addresses, CodeKind kind = CodeKind::kFile,
                   const model::BuildId& build_id = {}, uint64_t base = 0, uint64_t count = 5) {
  model::ProfileAssembler assembler;
  model::Mapping mapping;
  mapping.path = assembler.string(path);
  mapping.kind = kind;
  mapping.build_id = build_id;
  mapping.base = base;
  const auto mapping_id = assembler.mapping(mapping);
  StackId stack;
  for (const uint64_t address : addresses) {
    stack = assembler.stack(stack, assembler.frame({.mapping = mapping_id, .address = address}));
  }
  const auto event = assembler.event({assembler.string("cpu-clock"), assembler.string("ns")});
  const auto thread = assembler.thread({1, 1, assembler.string("test")});
  assembler.sample({stack, event, thread, count, count * 1000, std::nullopt, std::nullopt});
  return std::move(assembler).finish();
}

// The rows of the profile's only stack, outermost first.
std::vector<model::Frame> rows_of(const Profile& profile) {
  std::vector<model::Frame> rows;
  for (StackId at = profile.samples.stack[0]; at; at = profile.stacks[at].parent) {
    rows.insert(rows.begin(), profile.frames[profile.stacks[at].frame]);
  }
  return rows;
}

std::vector<std::string> names_of(const Profile& profile) {
  std::vector<std::string> names;
  for (const auto& row : rows_of(profile)) names.emplace_back(profile.text(profile.functions[row.function].name));
  return names;
}

uint64_t address_of(const std::string& path, const std::string& name) {
  const auto lines = run_tool_lines(fmt::format("nm --defined-only {} | grep ' {}$'", path, name));
  return lines.empty() ? 0 : std::strtoull(lines[0].c_str(), nullptr, 16);
}

uint64_t offset_of(const std::string& path, uint64_t address) {
  const auto file = base::FileContent::open(path);
  return objects::ElfFile::parse(file->bytes())->offset_of_address(address).value();
}

// The file offset of an instruction of holder() where all five functions are nested.
uint64_t deepest_offset() {
  const uint64_t begin = address_of(kProgram, "_ZN4nest6holderEi");
  for (uint64_t address = begin; address < begin + 200; ++address) {
    if (run_tool_lines(fmt::format("addr2line -i -e {} {:#x}", kProgram, address)).size() == 5) {
      return offset_of(kProgram, address);
    }
  }
  return 0;
}

model::BuildId build_id_of(const std::string& path) {
  const auto file = base::FileContent::open(path);
  return model::BuildId(objects::ElfFile::parse(file->bytes())->build_id());
}

TEST_F(Symbolize, InlinedFunctionsBecomeRows) {
  const Profile profile = profile_of(kProgram, {deepest_offset()}, CodeKind::kFile, build_id_of(kProgram));
  const Profile named = symbolize(profile, {});
  EXPECT_EQ(names_of(named), (std::vector<std::string>{"nest::holder", "nest::Outer::apply",
                                                       "nest::Outer::apply(int) const::{lambda(int)#1}::operator()",
                                                       "nest::(anonymous namespace)::middle", "nest::innermost<int>"}));
  const auto rows = rows_of(named);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].inlined, i > 0);
    EXPECT_EQ(rows[i].address, rows[0].address);
    EXPECT_TRUE(named.text(rows[i].file).ends_with("nested_inlines.cpp"));
    EXPECT_GT(rows[i].line, 0u);
    EXPECT_TRUE(named.functions[rows[i].function].named);
  }
  EXPECT_EQ(named.text(named.functions[rows[0].function].system_name), "_ZN4nest6holderEi");
  EXPECT_EQ(model::totals(named), model::totals(profile));
  EXPECT_EQ(named.quality, profile.quality);
}

TEST_F(Symbolize, OptionsDecideTheNames) {
  const Profile profile = profile_of(kProgram, {deepest_offset()});
  EXPECT_EQ(names_of(symbolize(profile, {.inlines = false})), std::vector<std::string>{"nest::holder"});
  EXPECT_EQ(names_of(symbolize(profile, {.demangle = false}))[0], "_ZN4nest6holderEi");
  EXPECT_EQ(names_of(symbolize(profile, {.inlines = false, .full_names = true}))[0], "nest::holder(int)");
}

const std::string kLocks = TEPHRA_BINARY_DIR "/programs/named_locks";

// A profile with a lock at an address as linked, in a file whose code is mapped; and the text of its label, named.
std::string named_lock(const std::string& path, uint64_t linked, int64_t damage = 0) {
  const uint64_t code = address_of(kLocks, "main");
  const uint64_t place = model::kDataAddress | (linked - code + offset_of(kLocks, code));
  model::ProfileAssembler assembler;
  const auto mapping = assembler.mapping({.path = assembler.string(path), .kind = CodeKind::kFile});
  const auto lock = assembler.frame({.mapping = mapping, .address = place});
  const auto main = assembler.frame({.mapping = mapping, .address = offset_of(kLocks, code)});
  const auto labels = assembler.labels(
      {{assembler.string(model::kLockKey), assembler.string("0x1234"), int64_t{lock.value} + damage, {}}});
  const auto event = assembler.event({assembler.string("offcpu-time"), assembler.string("ns")});
  assembler.sample({.stack = assembler.stack({}, main),
                    .event = event,
                    .thread = assembler.thread({1, 1, assembler.string("test")}),
                    .labels = labels});
  const Profile named = symbolize(std::move(assembler).finish(), {});
  for (const model::Frame& frame : named.frames) EXPECT_FALSE(model::is_data_address(frame.address));
  const model::Label& label = named.label_sets[named.samples.labels[0]].labels[0];
  if (damage == 0) EXPECT_EQ(label.number, 0);
  return std::string(named.text(label.text));
}

TEST_F(Symbolize, LocksAreNamedByTheVariableTheyLieIn) {
  const uint64_t mutex = address_of(kLocks, "queue_mutex");
  const uint64_t queue = address_of(kLocks, "_ZN7company5queueE");
  EXPECT_EQ(named_lock(kLocks, mutex), "queue_mutex");
  EXPECT_EQ(named_lock(kLocks, mutex + 4), "queue_mutex+0x4");
  EXPECT_EQ(named_lock(kLocks, queue + 8), "company::queue+0x8");
}

TEST_F(Symbolize, LocksWithoutANameKeepTheirAddress) {
  const uint64_t mutex = address_of(kLocks, "queue_mutex");
  EXPECT_EQ(named_lock(kLocks, mutex + 0x100000), "0x1234");            // behind all its data
  EXPECT_EQ(named_lock(kLocks, address_of(kLocks, "main")), "0x1234");  // code is no data
  EXPECT_EQ(named_lock("/nowhere/named_locks", mutex), "0x1234");       // no file
  for (const int64_t damage : {-5, 1, 1000, -1}) EXPECT_EQ(named_lock(kLocks, mutex, damage), "0x1234");
  const std::string stripped = in_folder("stripped");
  run_tool("strip -o " + stripped + " " + kLocks);
  EXPECT_EQ(named_lock(stripped, mutex), "0x1234");
}

TEST_F(Symbolize, NamedFramesAreLeftAlone) {
  const Profile once = symbolize(profile_of(kProgram, {deepest_offset()}), {});
  const Profile twice = symbolize(once, {.demangle = false});
  EXPECT_EQ(names_of(twice), names_of(once));
  EXPECT_EQ(rows_of(twice), rows_of(once));
}

TEST_F(Symbolize, ReturnAddressesBelongToTheCall) {
  const uint64_t start = offset_of(kProgram, address_of(kProgram, "main"));
  model::ProfileAssembler assembler;
  const auto mapping = assembler.mapping({.path = assembler.string(kProgram), .kind = CodeKind::kFile});
  const auto frame = assembler.frame({.mapping = mapping, .kind = AddressKind::kReturn, .address = start});
  assembler.sample({assembler.stack({}, frame), {}, {}, 1, 1, {}, {}});
  const Profile named = symbolize(std::move(assembler).finish(), {});
  EXPECT_NE(names_of(named)[0], "main");
  EXPECT_EQ(names_of(symbolize(profile_of(kProgram, {start}), {}))[0], "main");
}

TEST_F(Symbolize, MissingFileAndOtherBuild) {
  const Profile missing = symbolize(profile_of(in_folder("gone"), {0x1234}), {});
  EXPECT_EQ(names_of(missing)[0], "[unknown] gone+0x1234");
  EXPECT_FALSE(missing.functions[rows_of(missing)[0].function].named);
  EXPECT_EQ(missing.quality[Reason::file_missing], 5u);

  const model::BuildId other(base::as_bytes("01234567890123456789"));
  const Profile mismatch = symbolize(profile_of(kProgram, {0x1234, 0x1250}, CodeKind::kFile, other), {});
  EXPECT_EQ(mismatch.quality[Reason::build_id_mismatch], 10u);
  EXPECT_EQ(names_of(mismatch)[1], "[unknown] nested_inlines+0x1250");
}

TEST_F(Symbolize, WithoutABuildIdAReplacedFileIsKnownByItsInode) {
  struct stat info {};
  ASSERT_EQ(::stat(kProgram.c_str(), &info), 0);
  model::FileIdentity identity{uint64_t{major(info.st_dev)} << 32 | minor(info.st_dev), info.st_ino, 0};
  Reason why{};
  FileFinder finder;
  EXPECT_TRUE(CodeObject::open(finder, {kProgram, {}, identity}, why));
  ++identity.inode;
  EXPECT_FALSE(CodeObject::open(finder, {kProgram, {}, identity}, why));
  EXPECT_EQ(why, Reason::build_id_mismatch);
  ++identity.device;
  EXPECT_TRUE(CodeObject::open(finder, {kProgram, {}, identity}, why));
}

TEST_F(Symbolize, PipesAndFoldersAreNotRead) {
  ASSERT_EQ(::mkfifo(in_folder("pipe").c_str(), 0600), 0);
  EXPECT_EQ(symbolize(profile_of(in_folder("pipe"), {1}), {}).quality[Reason::file_missing], 5u);
  EXPECT_EQ(symbolize(profile_of(folder_, {1}), {}).quality[Reason::file_missing], 5u);
}

TEST_F(Symbolize, StrippedFileIsNamedByTheStartOfTheFunction) {
  const std::string stripped = in_folder("stripped");
  run_tool(fmt::format("strip -o {} {}", stripped, kProgram));
  const uint64_t start = offset_of(kProgram, address_of(kProgram, "_ZN4nest6holderEi"));
  const Profile profile = profile_of(stripped, {start + 7, start + 9});
  const std::string wanted = fmt::format("[unknown] stripped+{:#x}", start);
  const Profile named = symbolize(profile, {});
  EXPECT_EQ(names_of(named), (std::vector<std::string>{wanted, wanted}));
  EXPECT_EQ(named.quality[Reason::no_symbol], 10u);
  EXPECT_EQ(names_of(symbolize(profile, {.exact_unknown = true}))[0],
            fmt::format("[unknown] stripped+{:#x}", start + 7));
}

TEST_F(Symbolize, DebugFileByLinkNeedsItsChecksum) {
  const std::string source =
      write("f.cpp", "int work(int x) { return x * 3; }\nint main(int c, char**) { return work(c); }\n");
  const auto make = [&](const std::string& id) {
    run_tool(
        fmt::format("cd {} && g++ -O1 -g -fno-inline -Wl,--build-id={} -o whole f.cpp && objcopy --only-keep-debug "
                    "whole f.debug && "
                    "strip -o stripped whole && objcopy --add-gnu-debuglink=f.debug stripped 2>&1",
                    folder_.string(), id));
  };
  make("none");
  const uint64_t work = offset_of(in_folder("whole"), address_of(in_folder("whole"), "_Z4worki"));
  const Profile profile = profile_of(in_folder("stripped"), {work});
  const Profile named = symbolize(profile, {});
  EXPECT_EQ(names_of(named)[0], "work");
  EXPECT_EQ(rows_of(named)[0].line, 1u);

  std::ofstream(in_folder("f.debug"), std::ios::app) << "another byte";
  EXPECT_TRUE(names_of(symbolize(profile, {}))[0].starts_with("[unknown]"));

  // With build ids those decide.
  make("0x0102030405060708");
  EXPECT_EQ(names_of(symbolize(profile, {}))[0], "work");
  std::filesystem::rename(in_folder("f.debug"), in_folder("keep"));
  make("0x1112131415161718");
  std::filesystem::rename(in_folder("keep"), in_folder("f.debug"));
  EXPECT_TRUE(names_of(symbolize(profile, {}))[0].starts_with("[unknown]"));
}

TEST_F(Symbolize, DebugFileByBuildId) {
  const std::string hex = build_id_of(kProgram).hex();
  const std::string folder = in_folder(".build-id/" + hex.substr(0, 2));
  std::filesystem::create_directories(folder);
  const std::string debug = folder + "/" + hex.substr(2) + ".debug";
  run_tool(fmt::format("objcopy --only-keep-debug {} {}", kProgram, debug));
  const auto file = base::FileContent::open(kProgram);
  const auto elf = objects::ElfFile::parse(file->bytes());
  const auto found_below = [&](const std::string& root) {
    FileFinder finder({.debug_roots = {root}});
    return finder.find_debug({kProgram, build_id_of(kProgram), {}}, *elf).content != nullptr;
  };
  EXPECT_TRUE(found_below(folder_));
  EXPECT_FALSE(found_below(folder_ / "elsewhere"));
  // Another program's debug file under this name.
  run_tool(fmt::format("objcopy --only-keep-debug {} {}", TEPHRA_BINARY_DIR "/programs/spin", debug));
  EXPECT_FALSE(found_below(folder_));
}

TEST_F(Symbolize, FactsFromCallFrames) {
  const uint64_t start = offset_of(kProgram, address_of(kProgram, "_start"));
  const uint64_t holder = offset_of(kProgram, address_of(kProgram, "_ZN4nest6holderEi"));
  const auto rows = rows_of(symbolize(profile_of(kProgram, {start + 8, holder, deepest_offset()}), {.inlines = false}));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(rows[0].facts & model::kOutermost);
  EXPECT_EQ(rows[1].facts, model::kFrameNotSetUp);
  EXPECT_EQ(rows[2].facts, 0);
}

TEST_F(Symbolize, ThreadsOfTheCLibraryEndAtClone) {
  std::string libc;
  for (const std::string& line : run_tool_lines(fmt::format("cat /proc/{}/maps", ::getpid()))) {
    if (line.find("libc.so") != std::string::npos) libc = line.substr(line.find('/'));
  }
  ASSERT_FALSE(libc.empty());
  Reason why{};
  FileFinder finder;
  const auto object = CodeObject::open(finder, {libc, {}, {}}, why);
  ASSERT_TRUE(object);
  const auto address_in_libc = [&](const std::string& name) {
    const auto lines = run_tool_lines(fmt::format("nm -D {} | grep -E ' {}(@.*)?$'", libc, name));
    return lines.empty() ? uint64_t{0} : std::strtoull(lines[0].c_str(), nullptr, 16);
  };
  const uint64_t clone = address_in_libc("clone");
  const auto function = object->function_at(clone);
  ASSERT_TRUE(function);
  bool outermost = false;
  for (uint64_t at = function->address; at < function->end; ++at) {
    const auto facts = object->frame_facts(at);
    outermost = outermost || (facts && facts->outermost);
  }
  EXPECT_TRUE(outermost);
  const auto memmove_facts = object->frame_facts(address_in_libc("memfrob"));
  ASSERT_TRUE(memmove_facts);
  EXPECT_FALSE(memmove_facts->frame_is_set_up);
}

TEST_F(Symbolize, PlacesWithoutAFile) {
  const auto one = [](CodeKind kind, const std::string& path) {
    return symbolize(profile_of(path, {0x1234}, kind), {});
  };
  EXPECT_EQ(names_of(one(CodeKind::kNone, "")), std::vector<std::string>{"[unknown] 0x1234"});
  EXPECT_EQ(one(CodeKind::kNone, "").quality[Reason::address_not_mapped], 5u);
  EXPECT_EQ(one(CodeKind::kKernelUnmapped, "").quality[Reason::address_not_mapped], 5u);
  EXPECT_EQ(one(CodeKind::kAnonymous, "").quality[Reason::jit_code_unnamed], 5u);
  EXPECT_EQ(names_of(one(CodeKind::kKernelCode, "bpf_prog_1_x")), std::vector<std::string>{"bpf_prog_1_x"});
}

TEST_F(Symbolize, TheVdsoIsOurOwn) {
  const base::Bytes image = own_vdso();
  if (image.empty()) GTEST_SKIP() << "this kernel maps no vDSO";
  const auto elf = objects::ElfFile::parse(image);
  ASSERT_TRUE(elf);
  objects::SymbolTable symbols;
  symbols.add(*elf);
  symbols.finish();
  const auto* text = elf->section(".text");
  ASSERT_NE(text, nullptr);
  uint64_t offset = 0;
  for (uint64_t at = 0; at < text->size && offset == 0; at += 16) {
    const auto function = symbols.find(text->address + at);
    if (function && function->name.find("clock_gettime") != std::string_view::npos) offset = function->address + 4;
  }
  ASSERT_NE(offset, 0u);
  const Profile named = symbolize(profile_of("[vdso]", {offset}, CodeKind::kVdso), {});
  EXPECT_NE(names_of(named)[0].find("clock_gettime"), std::string::npos);
  Profile elsewhere = profile_of("[vdso]", {offset}, CodeKind::kVdso);
  elsewhere.facts.host = "another-host.invalid";
  EXPECT_EQ(symbolize(elsewhere, {}).quality[Reason::build_id_mismatch], 5u);
  const model::BuildId other(base::as_bytes("01234567890123456789"));
  EXPECT_EQ(symbolize(profile_of("[vdso]", {offset}, CodeKind::kVdso, other), {}).quality[Reason::build_id_mismatch],
            5u);
}

constexpr uint64_t kBase = 0xffffffff81000000;

class KernelAnswers : public Symbolize {
 protected:
  void SetUp() override {
    Symbolize::SetUp();
    kernel_.symbols = write("kallsyms",
                            "ffffffff81000000 T _text\nffffffff81000100 T first\nffffffff81000200 t __pfx_second\n"
                            "ffffffff81000210 t second\nffffffff82000000 T _etext\n"
                            "ffffffffc0000000 t module_work\t[some_module]\n");
    std::string note("\4\0\0\0\24\0\0\0\3\0\0\0GNU\0", 16);
    kernel_.notes = write("notes", note + "kernel-build-id-0001");
    kernel_.os_release = "6.1.0";
  }

  // The name of one kernel address, or the reason why there is none.
  std::string name(const Profile& profile) const {
    std::vector<FrameId> frames;
    for (uint32_t i = 1; i < profile.frames.size(); ++i) frames.push_back(FrameId{i});
    const Answers answers = answer_kernel(profile, frames, kernel_);
    if (answers.rows.empty()) return "nothing";
    if (const auto reason = answers.rows[0].reason)
      return std::string(model::kReasonNames[static_cast<size_t>(*reason)]);
    return std::string(answers.strings[answers.levels[answers.rows[0].first_level].name]);
  }

  const model::BuildId same_{base::as_bytes("kernel-build-id-0001")};
  const model::BuildId other_{base::as_bytes("kernel-build-id-0002")};
  RunningKernel kernel_;
};

TEST_F(KernelAnswers, SameKernelIsNamed) {
  EXPECT_EQ(name(profile_of("[kernel.kallsyms]", {kBase + 0x110}, CodeKind::kKernel, same_, kBase)), "first");
  EXPECT_EQ(name(profile_of("[kernel.kallsyms]", {kBase + 0x110}, CodeKind::kKernel, {}, kBase)), "first");
}

TEST_F(KernelAnswers, AnotherBootOfTheSameBuildIsShifted) {
  const uint64_t moved = kBase + 0x5000000;
  EXPECT_EQ(name(profile_of("[kernel.kallsyms]", {moved + 0x215}, CodeKind::kKernel, same_, moved)), "second");
  EXPECT_EQ(name(profile_of("[kernel.kallsyms]", {moved + 0x215}, CodeKind::kKernel, {}, moved)), "kernel_mismatch");
}

TEST_F(KernelAnswers, OtherKernelsAreRefused) {
  EXPECT_EQ(name(profile_of("[kernel.kallsyms]", {kBase + 0x110}, CodeKind::kKernel, other_, kBase)),
            "kernel_mismatch");
  Profile profile = profile_of("[kernel.kallsyms]", {kBase + 0x110}, CodeKind::kKernel, {}, kBase);
  profile.facts.os_release = "5.10.0";
  EXPECT_EQ(name(profile), "kernel_mismatch");
  profile.facts.os_release = "6.1.0";
  EXPECT_EQ(name(profile), "first");
}

TEST_F(KernelAnswers, TheFileOfTheRecordedKernelNamesIt) {
  // A program that is linked like a kernel, with one function at a known distance.
  write("image.c", "int before(int n) { return n + 1; } int wanted(int n) { return n * 3; }");
  const std::string image = in_folder("vmlinux");
  run_tool(fmt::format(
      "cd {} && gcc -O1 -fno-pie -nostdlib -static -no-pie -Wl,--build-id,-e,before,-Ttext=0xffffffff81000000 "
      "-mcmodel=kernel image.c -o vmlinux 2>&1",
      folder_.string()));
  const auto file = base::FileContent::open(image);
  ASSERT_TRUE(file);
  const auto elf = objects::ElfFile::parse(file->bytes());
  ASSERT_TRUE(elf);
  const model::BuildId id(elf->build_id());
  const std::string folder = in_folder(".build-id/" + id.hex().substr(0, 2));
  std::filesystem::create_directories(folder);
  std::filesystem::copy(image, folder + "/" + id.hex().substr(2) + ".debug");
  uint64_t start = UINT64_MAX;
  for (const auto& segment : elf->segments()) {
    if ((segment.flags & 1) != 0 && segment.address != 0) start = std::min(start, segment.address);
  }
  const uint64_t moved = 0xffffffffa0000000;
  const uint64_t distance = address_of(image, "wanted") - start;
  const Profile profile = profile_of("[kernel.kallsyms]", {moved + distance}, CodeKind::kKernel, id, moved);
  FileFinder finder({.debug_roots = {folder_}});
  const Answers answers = answer_kernel(profile, {FrameId{1}}, kernel_, &finder);
  ASSERT_EQ(answers.levels.size(), 1u);
  EXPECT_EQ(answers.strings[answers.levels[0].name], "wanted");
  FileFinder elsewhere({.debug_roots = {}});
  EXPECT_EQ(answer_kernel(profile, {FrameId{1}}, kernel_, &elsewhere).rows[0].reason, Reason::kernel_mismatch);
}

TEST_F(KernelAnswers, HiddenAndMissingSymbols) {
  const Profile profile = profile_of("[kernel.kallsyms]", {kBase + 0x110}, CodeKind::kKernel, same_, kBase);
  kernel_.symbols = write("hidden", "0000000000000000 T _text\n0000000000000000 T first\n");
  EXPECT_EQ(name(profile), "kernel_symbols_hidden");
  kernel_.symbols = in_folder("absent");
  EXPECT_EQ(name(profile), "kernel_symbols_hidden");
}

TEST_F(KernelAnswers, ModulesMustBeTheSame) {
  const auto in_module = [&](const std::string& path) {
    model::ProfileAssembler assembler;
    assembler.mapping(
        {.path = assembler.string("[kernel.kallsyms]"), .build_id = same_, .kind = CodeKind::kKernel, .base = kBase});
    const auto mapping = assembler.mapping({.path = assembler.string(path), .kind = CodeKind::kKernelModule});
    assembler.frame({.mapping = mapping, .address = 0xffffffffc0000010});
    return std::move(assembler).finish();
  };
  EXPECT_EQ(name(in_module("[some_module]")), "module_work");
  EXPECT_EQ(name(in_module("/lib/modules/6.1.0/kernel/some-module.ko.xz")), "module_work");
  EXPECT_EQ(name(in_module("[other]")), "kernel_mismatch");
}

TEST_F(KernelAnswers, PaddingIsNotAFunction) {
  Profile profile = profile_of("[kernel.kallsyms]", {kBase + 0x210}, CodeKind::kKernel, same_, kBase);
  profile.frames[FrameId{1}].kind = AddressKind::kReturn;
  EXPECT_EQ(name(profile), "second");
}

}  // namespace
}  // namespace tephra::symbols
