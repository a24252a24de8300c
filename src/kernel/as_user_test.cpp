#include "kernel/as_user.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

namespace tephra::kernel {
namespace {

constexpr uid_t kNobody = 65534;

bool may_read(const std::string& folder) { return ::faccessat(AT_FDCWD, folder.c_str(), R_OK, AT_EACCESS) == 0; }

TEST(AsUser, OneThreadHasTheRightsOfTheUserForAWhile) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  std::string folder = testing::TempDir() + "as_user_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const int groups = ::getgroups(0, nullptr);
  const int dumpable = ::prctl(PR_GET_DUMPABLE);
  {
    const AsUser nobody(kNobody, kNobody);
    ASSERT_TRUE(nobody);
    EXPECT_EQ(::geteuid(), kNobody);
    EXPECT_EQ(::getegid(), kNobody);
    EXPECT_EQ(::getgroups(0, nullptr), 0);
    EXPECT_FALSE(may_read(folder));
    EXPECT_NE(::chown(folder.c_str(), kNobody, kNobody), 0);
    std::thread([&folder] { EXPECT_FALSE(may_read(folder)); }).join();  // a thread begins with the rights of its maker
  }
  EXPECT_EQ(::geteuid(), 0u);
  EXPECT_EQ(::getegid(), 0u);
  EXPECT_EQ(::getgroups(0, nullptr), groups);
  EXPECT_EQ(::prctl(PR_GET_DUMPABLE), dumpable);
  EXPECT_TRUE(may_read(folder));
  ::rmdir(folder.c_str());
}

TEST(AsUser, OtherThreadsKeepTheirs) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  std::thread([] {
    const AsUser nobody(kNobody, kNobody);
    EXPECT_TRUE(nobody);
    EXPECT_EQ(::syscall(SYS_geteuid), static_cast<long>(kNobody));
    // The first thread of the process is the one that /proc/PID tells of.
    struct stat status {};
    const std::string first = "/proc/self/task/" + std::to_string(::getpid());
    EXPECT_EQ(::stat(first.c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, 0u);
  }).join();
}

TEST(AsUser, OneWhoIsNotRootStaysWhatHeIs) {
  const uid_t before = ::geteuid();
  const AsUser same(before, ::getegid());
  EXPECT_TRUE(same);
  EXPECT_EQ(::geteuid(), before);
}

}  // namespace
}  // namespace tephra::kernel
