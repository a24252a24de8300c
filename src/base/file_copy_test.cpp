#include "base/file_copy.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/file.h"

namespace tephra::base {
namespace {

class FileCopyTest : public testing::Test {
 protected:
  FileCopyTest() : fd_(::mkstemp(path_)) { ::unlink(path_); }

  void write(const std::string& text) { ASSERT_TRUE(write_all(fd_.get(), as_bytes(text), path_).ok()); }

  char path_[32] = "/tmp/tephra-copy-XXXXXX";
  FileDescriptor fd_;
};

TEST_F(FileCopyTest, HoldsWhatWasNeededAndZeros) {
  write(std::string(4096, 'a') + std::string(4096, 'b') + std::string(100, 'c'));
  const auto copy = FileCopy::of(fd_.get());
  ASSERT_TRUE(copy.ok());
  ASSERT_EQ(copy->bytes().size(), 8292u);
  copy->need(4100, 1);
  const std::string_view text = as_text(copy->bytes());
  EXPECT_EQ(text.substr(0, 4096), std::string(4096, '\0'));
  EXPECT_EQ(text.substr(4096, 4096), std::string(4096, 'b'));
  EXPECT_EQ(copy->bytes_read(), 4096u);
  copy->need_all();
  EXPECT_EQ(text.substr(0, 4096), std::string(4096, 'a'));
  EXPECT_EQ(text.substr(8192), std::string(100, 'c'));
  copy->need(100'000, 5);
}

TEST_F(FileCopyTest, WhatWasSeenDoesNotChangeAndACutFileIsZeros) {
  write(std::string(3 * 4096, 'a'));
  const auto copy = FileCopy::of(fd_.get());
  ASSERT_TRUE(copy.ok());
  copy->need(0, 10);
  ASSERT_EQ(::pwrite(fd_.get(), "z", 1, 0), 1);
  ASSERT_EQ(::ftruncate(fd_.get(), 10), 0);
  copy->need_all();
  EXPECT_EQ(as_text(copy->bytes()).substr(0, 4096), std::string(4096, 'a'));
  EXPECT_EQ(as_text(copy->bytes()).substr(4096), std::string(2 * 4096, '\0'));
}

TEST_F(FileCopyTest, ASparseFileOfAnySizeTakesNoMemory) {
  ASSERT_EQ(::ftruncate(fd_.get(), off_t{20} << 30), 0);
  const auto copy = FileCopy::of(fd_.get());
  ASSERT_TRUE(copy.ok());
  copy->need(off_t{19} << 30, 4096);
  EXPECT_EQ(copy->bytes_read(), 4096u);
  ASSERT_EQ(::ftruncate(fd_.get(), off_t{100} << 30), 0);
  EXPECT_FALSE(FileCopy::of(fd_.get()).ok());
}

TEST_F(FileCopyTest, OnlyOfRegularFilesWithContent) {
  EXPECT_FALSE(FileCopy::of(fd_.get()).ok());
  const FileDescriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(FileCopy::of(null.get()).ok());
  EXPECT_FALSE(FileCopy::of(-1).ok());
}

}  // namespace
}  // namespace tephra::base
