#include "collect/mapped_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/located_file.h"

namespace tephra::collect {
namespace {

class MappedFileTest : public testing::Test {
 protected:
  MappedFileTest() : folder_(testing::TempDir() + "tephra-mapped-XXXXXX") {
    if (::mkdtemp(folder_.data()) == nullptr) folder_.clear();
    file_ = folder_ + "/file";
    EXPECT_TRUE(base::write_file(file_, "content").ok());
  }
  ~MappedFileTest() override { std::filesystem::remove_all(folder_); }

  static uint64_t inode_of(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_ino;
  }

  std::string folder_;
  std::string file_;
};

TEST_F(MappedFileTest, OpensAFileByItsPathIfItIsTheOne) {
  const uint64_t inode = inode_of(file_);
  EXPECT_TRUE(open_mapped_file(::getpid(), 1, 2, inode, file_).has_value());
  EXPECT_FALSE(open_mapped_file(::getpid(), 1, 2, inode + 1, file_).has_value());
  EXPECT_FALSE(open_mapped_file(::getpid(), 1, 2, inode, file_ + "-gone").has_value());
}

// The thread that a process began with shows nothing any more once it has ended.
TEST_F(MappedFileTest, OpensItByAnyThread) {
  const uint64_t inode = inode_of(file_);
  std::thread([&] { EXPECT_TRUE(open_mapped_file(::gettid(), 1, 2, inode, file_).has_value()); }).join();
}

TEST_F(MappedFileTest, NeverOpensAnythingElse) {
  const std::string fifo = folder_ + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const base::FileDescriptor watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(watch.get(), fifo.c_str(), IN_OPEN), 0);
  EXPECT_FALSE(open_mapped_file(::getpid(), 1, 2, inode_of(fifo), fifo).has_value());
  EXPECT_FALSE(open_plain_file(fifo));
  EXPECT_FALSE(open_plain_file("/dev/null"));
  EXPECT_FALSE(open_plain_file(folder_));
  char events[512];
  EXPECT_LT(::read(watch.get(), events, sizeof events), 0) << "the FIFO was opened";
}

// A link to an absolute path means one below that root.
TEST_F(MappedFileTest, LinksLeadNowhereElse) {
  ASSERT_EQ(::mkdir((folder_ + "/etc").c_str(), 0700), 0);
  ASSERT_TRUE(base::write_file(folder_ + "/etc/passwd", "theirs").ok());
  ASSERT_EQ(::symlink("/etc/passwd", (folder_ + "/link").c_str()), 0);
  const base::FileDescriptor root(::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto fd = base::open_located(base::locate_below(root.get(), "/link"));
  ASSERT_TRUE(fd);
  char text[16] = {};
  EXPECT_EQ(::read(fd.get(), text, sizeof text - 1), 6);
  EXPECT_STREQ(text, "theirs");
  EXPECT_FALSE(base::locate_below(root.get(), "/link", base::LastLink::kRefuse) &&
               base::open_located(base::locate_below(root.get(), "/link", base::LastLink::kRefuse)));
}

}  // namespace
}  // namespace tephra::collect
