#include "base/disk_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tephra::base {
namespace {

class DiskCacheTest : public ::testing::Test {
 protected:
  DiskCacheTest() {
    std::string name = "/tmp/tephra-cache-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~DiskCacheTest() override { std::filesystem::remove_all(folder_); }

  std::string text_of(std::string_view key, uint32_t version = 1) const {
    const auto entry = cache().find("tables", key, version);
    return entry ? std::string(as_text(entry->bytes())) : "(absent)";
  }
  DiskCache cache() const { return DiskCache(folder_ + "/deep/tephra"); }
  std::string file(const std::string& key) const { return folder_ + "/deep/tephra/tables/" + key; }

  std::string folder_;
};

TEST_F(DiskCacheTest, GivesBackWhatWasStored) {
  EXPECT_EQ(text_of("aa"), "(absent)");
  ASSERT_TRUE(cache().store("tables", "aa", 1, as_bytes("rows")));
  EXPECT_EQ(text_of("aa"), "rows");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(cache().find("tables", "aa", 1)->bytes().data()) % 64, 0u);
  ASSERT_TRUE(cache().store("tables", "aa", 1, as_bytes("other rows")));
  EXPECT_EQ(text_of("aa"), "other rows");
}

TEST_F(DiskCacheTest, TakesNothingOfAnotherVersionOrDamaged) {
  ASSERT_TRUE(cache().store("tables", "aa", 1, as_bytes("rows")));
  EXPECT_EQ(text_of("aa", 2), "(absent)");
  std::filesystem::resize_file(file("aa"), 66);
  EXPECT_EQ(text_of("aa"), "(absent)");
  ASSERT_TRUE(cache().store("tables", "aa", 1, as_bytes("rows")));
  std::fstream(file("aa"), std::ios::in | std::ios::out).seekp(65).put('x');
  EXPECT_EQ(text_of("aa"), "(absent)");
  std::ofstream(file("aa")) << "something else";
  EXPECT_EQ(text_of("aa"), "(absent)");
}

TEST_F(DiskCacheTest, NeverOpensAFifoOrALink) {
  ASSERT_TRUE(cache().store("tables", "aa", 1, as_bytes("rows")));
  std::filesystem::create_symlink(file("aa"), file("bb"));
  EXPECT_EQ(text_of("bb"), "(absent)");
  ASSERT_EQ(::mkfifo(file("cc").c_str(), 0600), 0);
  EXPECT_EQ(text_of("cc"), "(absent)");
}

TEST_F(DiskCacheTest, RefusesKeysThatAreNoHexDigits) {
  EXPECT_FALSE(cache().store("tables", "../aa", 1, as_bytes("rows")));
  EXPECT_FALSE(cache().store("tables", "notes", 1, as_bytes("rows")));
  EXPECT_FALSE(cache().store("tables", "", 1, as_bytes("rows")));
  EXPECT_FALSE(DiskCache("").store("tables", "aa", 1, as_bytes("rows")));
}

TEST_F(DiskCacheTest, AnEntryUnderAnotherNameIsNone) {
  ASSERT_TRUE(cache().store("tables", "aa", 1, as_bytes("rows")));
  std::filesystem::copy(file("aa"), file("bb"));
  EXPECT_EQ(text_of("bb"), "(absent)");
  std::filesystem::create_directory(folder_ + "/deep/tephra/others");
  std::filesystem::copy(file("aa"), folder_ + "/deep/tephra/others/aa");
  EXPECT_FALSE(cache().find("others", "aa", 1));
  EXPECT_EQ(text_of("aa"), "rows");
}

TEST_F(DiskCacheTest, AFolderBehindALinkIsNotUsed) {
  const std::string precious = folder_ + "/precious";
  std::filesystem::create_directory(precious);
  std::ofstream(precious + "/bb") << std::string(5000, 'x');
  std::filesystem::create_directories(folder_ + "/deep/tephra");
  std::filesystem::create_directory_symlink(precious, folder_ + "/deep/tephra/tables");
  EXPECT_FALSE(cache().store("tables", "aa", 1, as_bytes("rows"), 100));
  EXPECT_EQ(text_of("aa"), "(absent)");
  EXPECT_TRUE(std::filesystem::exists(precious + "/bb"));
  EXPECT_FALSE(std::filesystem::exists(precious + "/aa"));
  // Nor is the folder of all kinds.
  std::filesystem::create_directory_symlink(precious, folder_ + "/link");
  EXPECT_FALSE(DiskCache(folder_ + "/link").store("tables", "aa", 1, as_bytes("rows")));
}

TEST_F(DiskCacheTest, AFolderOfAnotherUserIsNotUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_TRUE(cache().store("tables", "aa", 1, as_bytes("rows")));
  ASSERT_EQ(::chown((folder_ + "/deep/tephra/tables").c_str(), 65534, 65534), 0);
  EXPECT_EQ(text_of("aa"), "(absent)");
  EXPECT_FALSE(cache().store("tables", "bb", 1, as_bytes("rows"), 1));
  EXPECT_TRUE(std::filesystem::exists(file("aa")));
}

TEST_F(DiskCacheTest, DeletesNothingButEntries) {
  ASSERT_TRUE(cache().store("tables", "aa", 1, as_bytes("rows")));
  const std::string folder = folder_ + "/deep/tephra/tables/";
  const std::string content(1000, 'x');
  std::filesystem::create_directory(folder + "cc");
  for (const char* name : {"notes", "letter.txt", "cc/dd", "new-abcDEF"}) std::ofstream(folder + name) << content;
  std::filesystem::create_symlink("notes", folder + "ee");
  ASSERT_TRUE(cache().store("tables", "bb", 1, as_bytes(content), 10));
  EXPECT_EQ(text_of("aa"), "(absent)");
  for (const char* name : {"notes", "letter.txt", "cc/dd", "ee"}) {
    EXPECT_TRUE(std::filesystem::exists(folder + name)) << name;
  }
  // What a writer that was killed has left.
  EXPECT_FALSE(std::filesystem::exists(folder + "new-abcDEF"));
}

TEST_F(DiskCacheTest, DeletesTheOldestBeyondItsLimit) {
  const std::string content(1000, 'x');
  for (const char* key : {"aa", "bb", "cc"}) {
    ASSERT_TRUE(cache().store("tables", key, 1, as_bytes(content), 2500));
    timespec times[2] = {{0, UTIME_OMIT}, {1000 + key[0], 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, file(key).c_str(), times, 0), 0);
  }
  EXPECT_EQ(text_of("aa"), "(absent)");
  EXPECT_EQ(text_of("cc"), content);
}

// Listing thousands of entries for each that is stored would take longer than storing it.
TEST_F(DiskCacheTest, EntriesOfOthersAreSeenWhenEnoughWasStored) {
  constexpr uint64_t kLimit = 100'000;
  const DiskCache one = cache();
  ASSERT_TRUE(one.store("tables", "aa", 1, as_bytes(std::string(1000, 'x')), kLimit));
  std::ofstream(file("bb")) << std::string(2 * kLimit, 'x');
  ASSERT_TRUE(one.store("tables", "cc", 1, as_bytes("rows"), kLimit));
  EXPECT_TRUE(std::filesystem::exists(file("bb")));
  // Copies count together; of another kind nothing is known.
  const DiskCache copy = one;
  ASSERT_TRUE(copy.store("others", "dd", 1, as_bytes(std::string(kLimit / 10, 'x')), kLimit));
  EXPECT_TRUE(std::filesystem::exists(file("bb")));
  ASSERT_TRUE(copy.store("tables", "dd", 1, as_bytes(std::string(kLimit / 10, 'x')), kLimit));
  EXPECT_FALSE(std::filesystem::exists(file("bb")));
  EXPECT_NE(text_of("dd"), "(absent)");
  // A process that begins looks at once.
  std::ofstream(file("bb")) << std::string(2 * kLimit, 'x');
  ASSERT_TRUE(cache().store("tables", "ee", 1, as_bytes("rows"), kLimit));
  EXPECT_FALSE(std::filesystem::exists(file("bb")));
}

}  // namespace
}  // namespace tephra::base
