#include "base/tar_writer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/gzip_stream.h"
#include "base/zstd_stream.h"

namespace tephra::base {
namespace {

struct TarWriterTest : testing::Test {
  void SetUp() override {
    folder_ = testing::TempDir() + "tar_writer_test";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string archive() {
    std::string text;
    TarWriter tar([&](Bytes bytes) -> Status {
      text += as_text(bytes);
      return {};
    });
    EXPECT_TRUE(tar.file("a/plain", as_bytes("hello"), true));
    EXPECT_TRUE(tar.file("a/empty", {}));
    EXPECT_TRUE(tar.file(long_name_, as_bytes(std::string(1024, 'x'))));
    EXPECT_TRUE(tar.link("b/" + long_name_, long_name_));
    EXPECT_TRUE(tar.finish());
    return text;
  }

  void unpack(const std::string& name, const std::string& content) {
    ASSERT_TRUE(write_file(folder_ + "/" + name, content));
    const std::string command = "cd " + folder_ + " && tar xf " + name;
    ASSERT_EQ(std::system(command.c_str()), 0);
    EXPECT_EQ(*read_small_file(folder_ + "/a/plain"), "hello");
    EXPECT_EQ(std::filesystem::file_size(folder_ + "/a/empty"), 0u);
    EXPECT_EQ(*read_small_file(folder_ + "/" + long_name_), std::string(1024, 'x'));
    EXPECT_EQ(std::filesystem::hard_link_count(folder_ + "/b/" + long_name_), 2u);
    const auto mode = std::filesystem::status(folder_ + "/a/plain").permissions();
    EXPECT_NE(mode & std::filesystem::perms::owner_exec, std::filesystem::perms::none);
  }

  std::string folder_;
  const std::string long_name_ = "folder/" + std::string(90, 'n') + "/" + std::string(120, 'm');
};

TEST_F(TarWriterTest, PlainArchivesAreUnpackedByTar) { unpack("x.tar", archive()); }

TEST_F(TarWriterTest, CompressedArchivesAreUnpackedByTar) {
  std::string packed;
  GzipCompressor gzip;
  ASSERT_TRUE(gzip.compress(as_bytes(archive()), packed));
  ASSERT_TRUE(gzip.finish(packed));
  unpack("x.tar.gz", packed);
  std::filesystem::remove_all(folder_ + "/b");
  packed.clear();
  ZstdCompressor zstd(3);
  ASSERT_TRUE(zstd.compress(as_bytes(archive()), packed));
  ASSERT_TRUE(zstd.finish(packed));
  if (std::system("zstd --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "tar needs zstd, which is not installed";
  unpack("x.tar.zst", packed);
}

TEST(TarWriter, NoNameLeadsOutOfTheArchive) {
  for (const char* name : {"/etc/passwd", "../up", "a/../../up", "", "a/.."}) EXPECT_FALSE(TarWriter::is_inside(name));
  for (const char* name : {"a", "a/..b/c", "...", "a/./b"}) EXPECT_TRUE(TarWriter::is_inside(name));
  TarWriter tar([](Bytes) -> Status { return {}; });
  EXPECT_FALSE(tar.file("../up", {}));
  EXPECT_FALSE(tar.link("a", "/etc/passwd"));
}

}  // namespace
}  // namespace tephra::base
