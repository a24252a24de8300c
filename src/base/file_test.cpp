#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

namespace tephra::base {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  Files() {
    std::string name = (fs::temp_directory_path() / "tephra-files-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~Files() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  std::string folder_;
};

TEST_F(Files, WhatIsWrittenIsRead) {
  for (const std::string& text : {std::string(), std::string("short"), std::string(300000, 'x')}) {
    ASSERT_TRUE(write_file(path("file"), text).ok());
    auto content = FileContent::open(path("file"));
    ASSERT_TRUE(content.ok());
    EXPECT_EQ(as_text(content.value().bytes()), text);
    // The bytes stay when the object moves.
    const FileContent moved = std::move(content).value();
    EXPECT_EQ(as_text(moved.bytes()), text);
    moved.forget(moved.bytes());
    EXPECT_EQ(as_text(moved.bytes()), text);
    EXPECT_EQ(read_small_file(path("file")).value(), text);
    EXPECT_EQ(entries(), 1u) << "no temporary file is left";
  }
}

TEST_F(Files, TextInMemoryMovesToo) {
  for (const std::string& text : {std::string("short"), std::string(300, 'x')}) {
    FileContent content = FileContent::from_string(text);
    FileContent moved = std::move(content);
    EXPECT_EQ(as_text(moved.bytes()), text);
    moved.forget(moved.bytes());
    EXPECT_EQ(as_text(moved.bytes()), text);
  }
}

TEST_F(Files, AFailedWriteLeavesTheOldFile) {
  EXPECT_FALSE(write_file(path("no/such/folder"), "text").ok());
  ASSERT_TRUE(make_folder(path("folder/inner")).ok());
  EXPECT_FALSE(write_file(path("folder"), "text").ok());
  EXPECT_TRUE(fs::is_directory(path("folder")));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, DevicesAreWrittenToAndNotReplaced) {
  // Through links, so that a failure of this test does not replace the machine's devices.
  fs::create_symlink("/dev/null", path("null"));
  EXPECT_TRUE(write_file(path("null"), "text").ok());
  EXPECT_TRUE(fs::is_symlink(path("null")));
  fs::create_symlink("/dev/full", path("full"));
  EXPECT_FALSE(write_file(path("full"), "text").ok());
  EXPECT_TRUE(fs::is_symlink(path("full")));

  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = as_text(FileContent::open(path("fifo")).value().bytes()); });
  EXPECT_TRUE(write_file(path("fifo"), "through the pipe").ok());
  reader.join();
  EXPECT_EQ(got, "through the pipe");
  EXPECT_TRUE(fs::is_fifo(path("fifo")));
}

TEST_F(Files, ErrorsSayWhat) {
  EXPECT_NE(FileContent::open(path("none")).error().message().find("No such file"), std::string::npos);
  EXPECT_NE(FileContent::open(folder_).error().message().find("directory"), std::string::npos);
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_FALSE(read_small_file(path("fifo")).ok()) << "does not block";
  ASSERT_TRUE(write_file(path("large"), std::string(1000, 'x')).ok());
  EXPECT_FALSE(read_small_file(path("large"), 999).ok());
  EXPECT_TRUE(read_small_file(path("large"), 1000).ok());
}

// Some devices never end: whoever reads them says when it is enough.
TEST_F(Files, TheBeginningOfWhatCannotBeMappedIsJudged) {
  int judged = 0;
  const auto refused = FileContent::open("/dev/zero", [&](Bytes beginning) -> Status {
    ++judged;
    EXPECT_EQ(beginning.size(), FileContent::kJudgedBeginning);
    return failed("cannot read", "it", "zeros");
  });
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().why, "zeros");
  EXPECT_EQ(judged, 1);
}

TEST_F(Files, WhatIsJudgedWellIsReadToItsEnd) {
  const std::string text(3 * FileContent::kJudgedBeginning, 'x');
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  for (const size_t size : {size_t{1000}, FileContent::kJudgedBeginning, text.size()}) {
    std::thread writer([&] { EXPECT_TRUE(write_file(path("fifo"), text.substr(0, size)).ok()); });
    int judged = 0;
    const auto content = FileContent::open(path("fifo"), [&](Bytes) -> Status {
      ++judged;
      return {};
    });
    writer.join();
    ASSERT_TRUE(content.ok());
    EXPECT_EQ(content->bytes().size(), size);
    EXPECT_EQ(judged, size > FileContent::kJudgedBeginning ? 1 : 0);
  }
}

TEST_F(Files, FilesOfProcHaveNoSizeAndAreReadToTheEnd) {
  const auto content = FileContent::open("/proc/self/maps");
  ASSERT_TRUE(content.ok());
  EXPECT_FALSE(content.value().mapped());
  EXPECT_NE(as_text(content.value().bytes()).find("[stack]"), std::string_view::npos);
}

TEST(ErrorMessages, AreOneLineWhateverTheNames) {
  const Error error = failed("cannot read", "evil\nname\x1b[2J", "because", "Do this.");
  EXPECT_EQ(error.message(), "cannot read 'evil\\x0aname\\x1b[2J': because. Do this.");
  EXPECT_EQ(failed("cannot").message(), "cannot");
}

}  // namespace
}  // namespace tephra::base
