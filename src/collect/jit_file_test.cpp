#include "collect/jit_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>
#include "stream/put.h"

#include <filesystem>
#include <fstream>

namespace tephra::collect {
namespace {

using stream::put;

using Kind = stream::JitBatch::Kind;

// The world of a process of our own making.
class JitFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "jit_file_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::filesystem::create_directory(folder_ + "/tmp");
    root_.folder.reset(::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    root_.inner_pid = 7;
    root_.user = ::geteuid();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void append(const std::string& path, std::string_view text) {
    std::ofstream(folder_ + path, std::ios::app | std::ios::binary) << text;
  }

  JitFile::Look look(JitFile& file, size_t most = 1 << 20) {
    const auto look = file.look(root_, 7, 0, most, [this](const stream::JitBatch& batch) {
      batches_.push_back(batch);
      batches_.back().content = {};
      read_ += base::as_text(batch.content);
      return base::Status();
    });
    EXPECT_TRUE(look);
    return look ? *look : JitFile::Look{};
  }

  std::string folder_;
  kernel::ProcessRoot root_;
  std::vector<stream::JitBatch> batches_;
  std::string read_;
};

constexpr const char* kMap = "/tmp/perf-7.map";
constexpr const char* kDump = "/tmp/jit-7.dump";

std::string dump_header() {
  std::string out;
  for (const uint32_t word : {0x4A695444u, 1u, 40u, 62u, 0u, 7u}) put(out, word);
  put(out, uint64_t{0});
  put(out, uint64_t{0});
  return out;
}

std::string dump_record(size_t size) {
  std::string out;
  put(out, uint32_t{3});
  put(out, static_cast<uint32_t>(size));
  out.resize(size, 'x');
  return out;
}

TEST_F(JitFileTest, AnUnfinishedLineIsNotTakenAndIsNoReasonToLookAgainAtOnce) {
  JitFile file(Kind::kPerfMap, kMap, 0, 0);
  append(kMap, "10 1 whole\n20 1 unfin");
  EXPECT_EQ(look(file).taken, 11u);
  for (int again = 0; again < 3; ++again) {
    const auto nothing = look(file);
    EXPECT_EQ(nothing.taken, 0u);
    EXPECT_FALSE(nothing.more);
  }
  EXPECT_FALSE(file.is_cut());
  append(kMap, "ished\n");
  EXPECT_EQ(look(file).taken, 16u);
  EXPECT_EQ(read_, "10 1 whole\n20 1 unfinished\n");
}

TEST_F(JitFileTest, AFileOfNothingButAnUnfinishedLineTakesNothing) {
  JitFile file(Kind::kPerfMap, kMap, 0, 0);
  append(kMap, "10 1 unfin");
  EXPECT_EQ(look(file).taken, 0u);
  EXPECT_EQ(look(file).taken, 0u);
  EXPECT_TRUE(batches_.empty());
}

TEST_F(JitFileTest, AnUnfinishedRecordIsNotTakenEither) {
  JitFile file(Kind::kJitdump, kDump, 0, 0);
  const std::string record = dump_record(64);
  append(kDump, dump_header() + record + record.substr(0, 40));
  EXPECT_EQ(look(file).taken, 64u);
  const auto nothing = look(file);
  EXPECT_EQ(nothing.taken, 0u);
  EXPECT_FALSE(nothing.more);
  append(kDump, record.substr(40));
  EXPECT_EQ(look(file).taken, 64u);
  EXPECT_EQ(read_, record + record);
  EXPECT_FALSE(file.is_cut());
}

TEST_F(JitFileTest, ALongFileTakesSeveralLooksAndIsOfOneTime) {
  JitFile file(Kind::kPerfMap, kMap, 0, 0);
  for (const char* before : {"1 1 x\n", "2 1 y\n"}) {
    append(kMap, before);
    EXPECT_EQ(look(file).taken, 6u);
  }
  batches_.clear();
  read_.clear();
  append(kMap, "10 1 a\n20 1 b\n30 1 c\n");
  EXPECT_TRUE(look(file, 10).more);
  EXPECT_TRUE(file.is_cut());
  // What comes meanwhile is later than what was there, and is not mixed with it.
  append(kMap, "40 1 d\n");
  EXPECT_TRUE(look(file, 10).more);
  EXPECT_FALSE(look(file, 10).more);
  EXPECT_FALSE(file.is_cut());
  ASSERT_EQ(batches_.size(), 3u);
  EXPECT_EQ(batches_[1].earliest, batches_[0].earliest);
  EXPECT_EQ(batches_[2].earliest, batches_[0].earliest);
  EXPECT_EQ(read_, "10 1 a\n20 1 b\n30 1 c\n");
  EXPECT_EQ(look(file, 10).taken, 7u);
  ASSERT_EQ(batches_.size(), 4u);
  EXPECT_GT(batches_[3].earliest, batches_[0].earliest);
  EXPECT_LT(batches_[3].earliest, batches_[1].latest);
  EXPECT_EQ(read_, "10 1 a\n20 1 b\n30 1 c\n40 1 d\n");
}

TEST_F(JitFileTest, WhatIsToldFirstMayHaveRunSinceTheProcessBegan) {
  JitFile file(Kind::kPerfMap, kMap, 0, 5);
  EXPECT_EQ(look(file).taken, 0u);
  append(kMap, "");
  EXPECT_EQ(look(file).taken, 0u);
  append(kMap, "10 1 a\n");
  EXPECT_EQ(look(file).taken, 7u);
  // The first look may have come while it was being written.
  append(kMap, "20 1 b\n");
  EXPECT_EQ(look(file).taken, 7u);
  append(kMap, "30 1 c\n");
  EXPECT_EQ(look(file).taken, 7u);
  ASSERT_EQ(batches_.size(), 3u);
  EXPECT_EQ(batches_[0].earliest, 5u);
  EXPECT_EQ(batches_[1].earliest, 5u);
  EXPECT_GT(batches_[2].earliest, batches_[0].latest);
  EXPECT_LE(batches_[2].earliest, batches_[1].latest);
}

TEST_F(JitFileTest, WhatComesAfterAPauseIsLater) {
  JitFile file(Kind::kPerfMap, kMap, 0, 5);
  append(kMap, "10 1 a\n");
  EXPECT_EQ(look(file).taken, 7u);
  EXPECT_EQ(look(file).taken, 0u);
  append(kMap, "10 1 b\n");
  EXPECT_EQ(look(file).taken, 7u);
  ASSERT_EQ(batches_.size(), 2u);
  EXPECT_EQ(batches_[0].earliest, 5u);
  EXPECT_GT(batches_[1].earliest, batches_[0].latest);
}

TEST_F(JitFileTest, ALineThatDoesNotFitIsCut) {
  JitFile file(Kind::kPerfMap, kMap, 0, 0);
  append(kMap, "10 1 a_long_name\n");
  const auto first = look(file, 8);
  EXPECT_EQ(first.taken, 0u);
  EXPECT_TRUE(first.more);
  EXPECT_TRUE(file.is_cut());
}

TEST_F(JitFileTest, AFileBeyondItsLimitIsReadToIt) {
  JitFile file(Kind::kPerfMap, kMap, 0, 0);
  append(kMap, "10 1 a\n");
  std::filesystem::resize_file(folder_ + kMap, uint64_t{1} << 40);
  size_t looks = 0;
  while (look(file, 64 << 20).more) ASSERT_LT(++looks, 100u);
  EXPECT_EQ(look(file).taken, 0u);
  EXPECT_TRUE(file.is_cut());
  EXPECT_EQ(read_.substr(0, 7), "10 1 a\n");
}

TEST_F(JitFileTest, AFileWrittenAnewIsReadAnew) {
  JitFile file(Kind::kPerfMap, kMap, 0, 0);
  append(kMap, "10 1 a\n20 1 b\n");
  EXPECT_TRUE(look(file, 10).more);
  std::ofstream(folder_ + kMap) << "10 1 c\n";
  EXPECT_FALSE(look(file, 10).more);
  EXPECT_EQ(read_, "10 1 a\n10 1 c\n");
}

}  // namespace
}  // namespace tephra::collect
