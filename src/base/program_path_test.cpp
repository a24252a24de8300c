#include "base/program_path.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tephra::base {
namespace {

class FindProgram : public testing::Test {
 protected:
  FindProgram()
      : folder_(testing::TempDir() + "program-path-" + std::to_string(::getpid())), before_(::getenv("PATH")) {
    std::filesystem::create_directories(folder_ + "/first");
    std::filesystem::create_directories(folder_ + "/second");
    make("first/plain", 0644);
    make("second/plain", 0755);
    make("second/tool", 0755);
  }
  ~FindProgram() override {
    ::setenv("PATH", before_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  void make(const std::string& name, mode_t mode) {
    std::ofstream(folder_ + "/" + name) << "x";
    ::chmod((folder_ + "/" + name).c_str(), mode);
  }

  std::string folder_;
  std::string before_;
};

TEST_F(FindProgram, TakesTheFirstThatMayRun) {
  ::setenv("PATH", (folder_ + "/first:" + folder_ + "/second").c_str(), 1);
  EXPECT_EQ(find_program("tool"), folder_ + "/second/tool");
  EXPECT_EQ(find_program("plain"), folder_ + "/second/plain");
  EXPECT_EQ(find_program("absent"), "");
}

TEST_F(FindProgram, ANameWithASlashIsAPath) { EXPECT_EQ(find_program("./absent"), "./absent"); }

TEST_F(FindProgram, AnEmptyFolderIsTheCurrentOne) {
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(folder_ + "/second");
  for (const char* const path : {":/nowhere", "/nowhere:", "/nowhere::/nowhere"}) {
    ::setenv("PATH", path, 1);
    EXPECT_EQ(find_program("tool"), "./tool") << path;
  }
  std::filesystem::current_path(here);
}

}  // namespace
}  // namespace tephra::base
