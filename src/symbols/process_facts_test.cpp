#include "symbols/process_facts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tephra::symbols {
namespace {

namespace fs = std::filesystem;

class PackageOwner : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tephra-packages-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    fs::create_directories(root_ + "/var/lib/dpkg/info");
    fs::create_directories(root_ + "/etc");
  }
  void TearDown() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& text) { std::ofstream(root_ + path) << text; }

  std::string root_;
};

TEST_F(PackageOwner, IsFoundUnderBothNamesOfAMergedFolder) {
  put("/var/lib/dpkg/info/libc6:amd64.list", "/.\n/lib\n/lib/x86_64-linux-gnu/libc.so.6\n");
  put("/var/lib/dpkg/info/coreutils.list", "/usr/bin/sleep\n");
  put("/var/lib/dpkg/info/coreutils.md5sums", "/usr/bin/other\n");
  const auto owners =
      package_owners(root_, {"/usr/lib/x86_64-linux-gnu/libc.so.6", "/bin/sleep", "/usr/bin/other", "/srv/server"});
  EXPECT_EQ(owners, (std::map<std::string, std::string>{{"/usr/lib/x86_64-linux-gnu/libc.so.6", "libc6"},
                                                        {"/bin/sleep", "coreutils"}}));
  EXPECT_TRUE(package_owners(root_, {}).empty());
  EXPECT_TRUE(package_owners(root_ + "/nowhere", {"/bin/sleep"}).empty());
}

TEST_F(PackageOwner, DebugPackages) {
  EXPECT_EQ(debug_package_of("libstdc++6"), "libstdc++6-dbgsym");
  EXPECT_EQ(debug_package_of("libc6"), "libc6-dbg");
}

TEST_F(PackageOwner, DistributionByItsReleaseFile) {
  EXPECT_EQ(distribution_of(root_), Distribution::kOther);
  put("/etc/os-release", "NAME=\"Linux Mint\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n");
  EXPECT_EQ(distribution_of(root_), Distribution::kDebian);
  put("/etc/os-release", "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n");
  EXPECT_EQ(distribution_of(root_), Distribution::kFedora);
  put("/etc/os-release", "ID=arch\nID_LIKE=\nNAME=debian\nID=\"\n");
  EXPECT_EQ(distribution_of(root_), Distribution::kOther);
}

TEST(ProcessFacts, OfOurselves) {
  const auto facts = process_facts(::getpid());
  ASSERT_TRUE(facts) << facts.error().message();
  EXPECT_EQ(facts->inner_pid > 0, true);
  EXPECT_TRUE(facts->maps_readable);
  EXPECT_FALSE(facts->ended);
  EXPECT_FALSE(facts->kernel_thread);
  EXPECT_FALSE(facts->other_mount_namespace);
  ASSERT_FALSE(facts->modules.empty());
  size_t programs = 0;
  for (const ModuleFacts& module : facts->modules) {
    EXPECT_TRUE(module.readable) << module.path;
    EXPECT_TRUE(module.found_by_path) << module.path;
    EXPECT_GT(module.frames.described, 0u) << module.path;
    programs += module.program;
  }
  EXPECT_EQ(programs, 1u);
}

TEST(ProcessFacts, NobodyAndThreadsAreErrors) {
  const auto nobody = process_facts(0x3fffffff);
  ASSERT_FALSE(nobody);
  EXPECT_NE(nobody.error().message().find("no such process"), std::string::npos);
}

}  // namespace
}  // namespace tephra::symbols
