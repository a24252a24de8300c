#include "unwind/frame_table.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "objects/cfi_for_tests.h"
#include "unwind/compiled_table.h"
#include "unwind/frame_check_for_tests.h"
#include "unwind/generated_code.h"
#include "unwind/table_store.h"

namespace tephra::unwind {
namespace {

using objects::ElfFile;

std::string libc_path() {
  for (const char* path : {"/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6", "/lib64/libc.so.6"}) {
    if (::access(path, R_OK) == 0) return path;
  }
  return {};
}

class Folder {
 public:
  Folder() : path_(testing::TempDir() + "tephra-frames-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

CompiledTable compiled(const std::string& path) {
  const auto file = base::FileContent::open(path);
  const auto elf = ElfFile::parse(file->bytes());
  return CompiledTable(objects::build_frame_rows(*elf));
}

TEST(FrameTable, FindsTheRowAtEveryOffset) {
  const std::string path = libc_path();
  if (path.empty()) GTEST_SKIP() << "there is no C library at the usual places";
  const CompiledTable compiled_libc = compiled(path);
  const FrameTable& table = compiled_libc.table();
  ASSERT_GT(table.rows, 10000u);
  EXPECT_EQ(table.find(0).cfa, TEPHRA_CFA_NONE);
  EXPECT_EQ(table.find(UINT32_MAX).cfa, TEPHRA_CFA_NONE);
  EXPECT_EQ(table.find(UINT64_MAX).cfa, TEPHRA_CFA_NONE);
  for (uint64_t row = 0; row < table.rows; ++row) {
    const auto& block = table.blocks[row / TEPHRA_FRAME_BLOCK_ROWS];
    const size_t place = row % TEPHRA_FRAME_BLOCK_ROWS;
    const tephra_frame_rule* rule = &table.rules[block.rule[place]];
    ASSERT_EQ(&table.find(block.start[place]), rule) << row;
    if (row == 0) continue;
    const auto& before = table.blocks[(row - 1) / TEPHRA_FRAME_BLOCK_ROWS];
    ASSERT_LT(before.start[(row - 1) % TEPHRA_FRAME_BLOCK_ROWS], block.start[place]);
    ASSERT_EQ(&table.find(block.start[place] - 1), &table.rules[before.rule[(row - 1) % TEPHRA_FRAME_BLOCK_ROWS]]);
  }
  EXPECT_EQ(FrameTable{}.find(0x1000).cfa, TEPHRA_CFA_NONE);
}

TEST(FrameTable, CacheContentIsReadBack) {
  const std::string path = libc_path();
  if (path.empty()) GTEST_SKIP() << "there is no C library at the usual places";
  const CompiledTable libc = compiled(path);
  const Folder folder;
  const base::DiskCache cache(folder.path());
  const std::string content = libc.cache_content({});
  ASSERT_TRUE(cache.store("frames", "abcd", CompiledTable::kVersion, base::as_bytes(content)).ok());
  auto entry = cache.find("frames", "abcd", CompiledTable::kVersion);
  ASSERT_TRUE(entry);
  const auto loaded = CompiledTable::from_cache(std::move(*entry));
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->table().rows, libc.table().rows);
  EXPECT_EQ(loaded->table().unsupported_rows, libc.table().unsupported_rows);
  EXPECT_EQ(loaded->cache_content({}), content);
}

TEST(FrameTable, ForeignContentIsRefused) {
  objects::CfiForTests frames(0x500000);
  frames.common({}).function(0x401000, 8).function(0x401040, 8);
  objects::ElfForTests elf;
  elf.sections.push_back({".text", 0x401000, std::string(0x100, '\0'), true});
  elf.sections.push_back({".eh_frame", 0x500000, frames.bytes()});
  const std::string bytes = elf.bytes();
  const CompiledTable table(objects::build_frame_rows(*ElfFile::parse(base::as_bytes(bytes))));
  const std::string content = table.cache_content({});
  ASSERT_TRUE(view_table(base::as_bytes(content)));
  for (size_t size = 0; size < content.size(); ++size) {
    EXPECT_FALSE(view_table(base::as_bytes(content).first(size))) << size;
  }
  // Every damage to a byte is refused, or leaves a table all of whose rules exist.
  for (size_t at = 0; at < content.size(); ++at) {
    alignas(64) char damaged[4096];
    ASSERT_LE(content.size(), sizeof damaged);
    std::copy(content.begin(), content.end(), damaged);
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    const auto view = view_table({reinterpret_cast<const std::byte*>(damaged), content.size()});
    if (!view) continue;
    for (uint64_t offset = 0; offset < 0x3000; offset += 7) static_cast<void>(view->find(offset).cfa);
  }
}

TEST(TableStore, CompilesOnceAndThenLoads) {
  const std::string path = libc_path();
  if (path.empty()) GTEST_SKIP() << "there is no C library at the usual places";
  const Folder folder;
  const base::DiskCache cache(folder.path());
  const auto file = base::FileContent::open(path);
  const model::BuildId build_id(ElfFile::parse(file->bytes())->build_id());
  ASSERT_FALSE(build_id.empty());
  uint64_t rows = 0;
  {
    symbols::FileFinder finder;
    TableStore store(finder, cache);
    std::vector<std::jthread> threads;
    std::vector<const FrameTable*> found(8);
    for (auto& table : found) threads.emplace_back([&] { table = store.find({path, build_id, {}}); });
    threads.clear();
    ASSERT_NE(found[0], nullptr);
    for (const auto* table : found) EXPECT_EQ(table, found[0]);
    EXPECT_EQ(store.find({path, {}, {}}), found[0]);  // the same file, its build id not told
    EXPECT_EQ(store.totals().compiled, 1u);
    EXPECT_EQ(store.totals().tables, 1u);
    rows = found[0]->rows;
    EXPECT_EQ(store.totals().rows, rows);
  }
  symbols::FileFinder finder;
  TableStore store(finder, cache);
  // By build id alone: the file may be gone.
  const auto* table = store.find({"/nonexistent", build_id, {}});
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->rows, rows);
  EXPECT_EQ(store.totals().compiled, 0u);
}

TEST(TableStore, PaddedBuildIdsAreTheSame) {
  objects::CfiForTests frames(0x500000);
  frames.common({}).function(0x401000, 8);
  objects::ElfForTests elf;
  elf.sections.push_back({".text", 0x401000, std::string(0x100, '\0'), true});
  elf.sections.push_back({".eh_frame", 0x500000, frames.bytes()});
  const Folder folder;
  const std::string path = folder.path() + "/program";
  ASSERT_TRUE(base::write_file(path, elf.bytes()).ok());
  const base::DiskCache cache(folder.path() + "/cache");
  symbols::FileFinder finder;
  TableStore store(finder, cache);
  // Without a build id nothing is stored.
  const auto* table = store.find({path, {}, {}});
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->rows, 2u);
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/cache/frames"));
  EXPECT_EQ(store.find({path + "-gone", {}, {}}), nullptr);
  const std::string other(8, 'x');
  EXPECT_EQ(store.find({path, model::BuildId(base::as_bytes(other)), {}}), nullptr);  // another file has this path now
}

TEST(TableStore, NeitherBlocksNorReadsWhatIsNoFile) {
  const Folder folder;
  const std::string fifo = folder.path() + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::string sparse = folder.path() + "/sparse";
  ASSERT_TRUE(base::write_file(sparse,
                               "\x7f"
                               "ELF")
                  .ok());
  ASSERT_EQ(::truncate(sparse.c_str(), off_t{100} << 30), 0);
  symbols::FileFinder finder;
  const base::DiskCache cache("");
  TableStore store(finder, cache);
  EXPECT_EQ(store.find({fifo, {}, {}}), nullptr);
  EXPECT_EQ(store.find({"/dev/zero", {}, {}}), nullptr);
  EXPECT_EQ(store.find({sparse, {}, {}}), nullptr);
}

TEST(TableStore, VdsoOfThisKernel) {
  symbols::FileFinder finder;
  const base::DiskCache cache("");
  TableStore store(finder, cache);
  const auto* table = store.find_vdso({});
  if (table == nullptr) GTEST_SKIP() << "this kernel maps no vDSO";
  EXPECT_GT(table->rows, 2u);
  EXPECT_EQ(table->unsupported_rows, 0u);
  const std::string other(20, 'x');
  EXPECT_EQ(store.find_vdso(model::BuildId(base::as_bytes(other))), nullptr);
}

TEST(GeneratedCode, PythonTrampolines) {
  const std::string code = "\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3";
  const std::string pad(5, '\0');
  const std::string packed = code + code + code + code;
  const std::string aligned = code + pad + code + pad + code + pad;
  const auto* by_packed = generated_code_table(base::as_bytes(packed));
  ASSERT_NE(by_packed, nullptr);
  // The call returns to byte 6.
  EXPECT_EQ(by_packed->find(6 + 11 * 100).cfa, TEPHRA_CFA_SP);
  EXPECT_EQ(by_packed->find(6).cfa_offset, 16);
  EXPECT_EQ(by_packed->find(6).ra_offset, -8);
  const auto* by_aligned = generated_code_table(base::as_bytes(aligned));
  ASSERT_NE(by_aligned, nullptr);
  tephra_frame frame{};
  frame.pc = 0x7f0000000006;
  frame.sp = 0x10000000;
  frame.is_call_site = 1;
  ASSERT_EQ(tephra_step_by_rule(TEPHRA_X86_64, &by_aligned->find(5), nullptr, &frame, nullptr), 0);
  EXPECT_EQ(frame.sp, 0x10000010u);
  frame.pc = 0x7f0000000010;  // the first instruction of a copy
  ASSERT_EQ(tephra_step_by_rule(TEPHRA_X86_64, &by_aligned->find(0x10), nullptr, &frame, nullptr), 0);
  EXPECT_EQ(frame.sp, 0x10000018u);
  const std::string frame_pointer = "\x55\x48\x89\xe5\xff\xd1\x5d\xc3";
  const auto* by_pointer = generated_code_table(base::as_bytes(frame_pointer));
  ASSERT_NE(by_pointer, nullptr);
  EXPECT_EQ(by_pointer->find(6).fp, TEPHRA_SAVED_AT_CFA);
  EXPECT_EQ(generated_code_table(base::as_bytes("\x48\x83\xec\x08")), nullptr);
  EXPECT_EQ(generated_code_table({}), nullptr);
}

// The rows of what is installed here, compared with libdw at random places.
TEST(FrameTable, AgreesWithLibdw) {
  uint64_t places = 0;
  uint64_t files = 0;
  uint64_t unsupported = 0;
  uint64_t lost = 0;
  uint64_t unjudged = 0;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::string> paths{libc_path()};
  for (const char* folder :
       {"/usr/bin", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/aarch64-linux-gnu/lib"}) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      if (entry.is_regular_file(error)) paths.push_back(entry.path());
    }
  }
  std::shuffle(paths.begin() + 1, paths.end(), std::mt19937(7));
  for (const std::string& path : paths) {
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(5)) break;
    const auto file = base::FileContent::open(path);
    if (!file) continue;
    const auto elf = ElfFile::parse(file->bytes());
    if (!elf) continue;
    const CompiledTable table(objects::build_frame_rows(*elf));
    const auto outcome = FrameCheck::run(path, *elf, table.table(), 400, static_cast<unsigned>(files));
    EXPECT_EQ(outcome.differ, 0u) << path << ": " << outcome.first_difference;
    places += outcome.places;
    unsupported += outcome.unsupported;
    lost += outcome.frame_pointer_lost;
    unjudged += outcome.unjudged;
    ++files;
  }
  std::printf("%llu files, %llu places, %llu unsupported, frame pointer lost at %llu\n",
              static_cast<unsigned long long>(files), static_cast<unsigned long long>(places),
              static_cast<unsigned long long>(unsupported), static_cast<unsigned long long>(lost));
  if (files < 10) GTEST_SKIP() << "there are hardly any files to compare";
  EXPECT_GT(places, 1000u);
  EXPECT_LT(unsupported * 100, places);
  EXPECT_LT(unjudged * 10'000, places);
  EXPECT_LT(lost * 100, places);
}

}  // namespace
}  // namespace tephra::unwind
