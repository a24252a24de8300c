#include "unwind/live_tables.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/file_copy.h"
#include "objects/cfi_for_tests.h"
#include "symbols/file_finder.h"
#include "unwind/table_store.h"

namespace tephra::unwind {
namespace {

constexpr uint64_t kCode = 0x401000;

// A program of `functions` functions with a build id of 20 times the letter.
std::string program(char build_id, size_t functions) {
  objects::CfiForTests frames(0x500000);
  frames.common({});
  for (size_t i = 0; i < functions; ++i) frames.function(kCode + i * 0x40, 8);
  objects::ElfForTests elf;
  const std::string note("\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0", 16);
  elf.sections.push_back({".text", kCode, std::string(0x1000, '\0'), true});
  elf.sections.push_back({".eh_frame", 0x500000, frames.bytes()});
  elf.sections.push_back({".note.gnu.build-id", 0, note + std::string(20, build_id), false, 0, SHT_NOTE});
  return elf.bytes();
}

class LiveTablesTest : public testing::Test {
 protected:
  LiveTablesTest() : folder_(testing::TempDir() + "tephra-live-XXXXXX") {
    if (::mkdtemp(folder_.data()) == nullptr) folder_.clear();
  }
  ~LiveTablesTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ + "/" + name;
    EXPECT_TRUE(base::write_file(path, bytes).ok());
    return path;
  }
  static base::FileDescriptor open(const std::string& path) {
    return base::FileDescriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  }
  base::DiskCache cache() const { return base::DiskCache(folder_ + "/cache"); }

  std::string folder_;
};

TEST_F(LiveTablesTest, MakesTheRowsThatAMappedFileHas) {
  for (const char* path : {"/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6", "/proc/self/exe"}) {
    const auto file = base::FileContent::open(path);
    if (!file) continue;
    const CompiledTable expected(objects::build_frame_rows(*objects::ElfFile::parse(file->bytes())));
    const base::DiskCache none("");
    LiveTables tables(none);
    const auto fd = base::FileDescriptor(::open(path, O_RDONLY | O_CLOEXEC));
    const auto table = tables.of_file(fd.get());
    ASSERT_NE(table, nullptr);
    EXPECT_EQ(table->rows, expected.table().rows) << path;
    for (uint64_t offset = 0; offset < file->bytes().size(); offset += 61) {
      ASSERT_EQ(std::memcmp(&table->find(offset), &expected.table().find(offset), sizeof(tephra_frame_rule)), 0);
    }
  }
}

// The same build id in two files, as anybody can make them.
TEST_F(LiveTablesTest, RowsOfAnotherFileWithTheBuildIdAreNotUsed) {
  const auto first = open(write("first", program('a', 1)));
  const auto second = open(write("second", program('a', 5)));
  const auto disk = cache();
  uint64_t rows = 0;
  {
    LiveTables tables(disk);
    const auto one = tables.of_file(first.get());
    const auto other = tables.of_file(second.get());
    ASSERT_NE(one, nullptr);
    ASSERT_NE(other, nullptr);
    EXPECT_NE(one->rows, other->rows);
    rows = one->rows;
  }
  // The last of them is on disk now.
  LiveTables later(disk);
  EXPECT_EQ(later.of_file(first.get())->rows, rows);
  EXPECT_EQ(later.compiled(), 1u);
}

TEST_F(LiveTablesTest, WhatStrangersHaveWrittenIsNotKeptOnDisk) {
  if (::geteuid() != 0) GTEST_SKIP() << "files can be given away by root alone";
  const std::string path = write("program", program('b', 3));
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  const auto fd = open(path);
  const auto disk = cache();
  LiveTables tables(disk);
  ASSERT_NE(tables.of_file(fd.get()), nullptr);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/cache/frames"));
  // Nor by a reader of recordings.
  symbols::FileFinder finder;
  TableStore store(finder, disk);
  const std::string build_id(20, 'b');
  ASSERT_NE(store.find({path, model::BuildId(base::as_bytes(build_id)), {}}), nullptr);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/cache/frames"));
  ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  LiveTables own(disk);
  ASSERT_NE(own.of_file(fd.get()), nullptr);
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/cache/frames"));
}

TEST_F(LiveTablesTest, CopiesOfAFileShareATableThatGoesWithItsLastUser) {
  const auto first = open(write("first", program('c', 2)));
  const auto copy = open(write("copy", program('c', 2)));
  const auto disk = cache();
  LiveTables tables(disk);
  auto table = tables.of_file(first.get());
  EXPECT_EQ(tables.of_file(copy.get()), table);
  EXPECT_EQ(tables.compiled(), 1u);
  const std::weak_ptr<const FrameTable> watched = table;
  table.reset();
  EXPECT_TRUE(watched.expired());
  EXPECT_NE(tables.of_file(copy.get()), nullptr);
  EXPECT_EQ(tables.compiled(), 1u) << "it was on disk";
}

// A mapping of it would have ended this process.
TEST_F(LiveTablesTest, AFileThatIsCutMeanwhileDoesNoHarm) {
  const std::string bytes = program('d', 4);
  const std::string path = write("program", bytes);
  const base::DiskCache none("");
  const uint64_t whole = LiveTables(none).of_file(open(path).get())->rows;
  for (size_t size = 0; size < bytes.size(); size += 512) {
    const auto fd = open(path);
    const auto copy = base::FileCopy::of(fd.get());
    ASSERT_TRUE(copy.ok());
    size_t asked = 0;
    const auto elf = objects::ElfFile::parse(copy->bytes(), [&](uint64_t offset, uint64_t count) {
      if (++asked == 3) {
        ASSERT_EQ(::ftruncate(fd.get(), static_cast<off_t>(size)), 0);
      }
      copy->need(offset, count);
    });
    if (elf) {
      EXPECT_LE(objects::build_frame_rows(*elf).rows, whole);
    }
    LiveTables tables(none);
    const auto table = tables.of_file(fd.get());
    EXPECT_TRUE(table == nullptr || table->rows <= whole) << size;
    write("program", bytes);
  }
}

TEST_F(LiveTablesTest, NothingIsMadeOfWhatIsNoCode) {
  const base::DiskCache none("");
  LiveTables tables(none);
  EXPECT_EQ(tables.of_file(-1), nullptr);
  EXPECT_EQ(tables.of_file(open(write("text", "no code")).get()), nullptr);
  const auto sparse = open(write("sparse", program('e', 1)));
  ASSERT_EQ(::ftruncate(sparse.get(), off_t{100} << 30), 0);
  EXPECT_EQ(tables.of_file(sparse.get()), nullptr);
}

}  // namespace
}  // namespace tephra::unwind
