#include "objects/debuginfod_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

namespace tephra::objects {
namespace {

// Sets a variable of the environment for as long as it lives; null: removes it.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value != nullptr ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Setting() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

class DebuginfodCache : public testing::Test {
 protected:
  DebuginfodCache() {
    std::string name = "/tmp/tephra-debuginfod-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~DebuginfodCache() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(DebuginfodCache, FolderByTheRulesOfTheClient) {
  const Setting home("HOME", folder_.c_str());
  {
    const Setting path("DEBUGINFOD_CACHE_PATH", "/else/where");
    EXPECT_EQ(debuginfod_cache_folder(), "/else/where");
  }
  const Setting no_path("DEBUGINFOD_CACHE_PATH", nullptr);
  {
    const Setting xdg("XDG_CACHE_HOME", "/xdg");
    EXPECT_EQ(debuginfod_cache_folder(), "/xdg/debuginfod_client");
  }
  const Setting no_xdg("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(debuginfod_cache_folder(), folder_ + "/.cache/debuginfod_client");
  std::filesystem::create_directory(folder_ + "/.debuginfod_client_cache");
  EXPECT_EQ(debuginfod_cache_folder(), folder_ + "/.debuginfod_client_cache");
}

TEST_F(DebuginfodCache, ForgetsWhatIsEmptyAlone) {
  const std::array<std::byte, 3> id{std::byte{0xab}, std::byte{0x01}, std::byte{0xff}};
  const std::string entry = folder_ + "/ab01ff";
  std::filesystem::create_directory(entry);
  std::ofstream(entry + "/debuginfo").close();
  std::ofstream(entry + "/executable") << "content";
  forget_absence(folder_, id, "executable");
  EXPECT_TRUE(std::filesystem::exists(entry + "/executable"));
  EXPECT_TRUE(std::filesystem::exists(entry + "/debuginfo"));
  forget_absence(folder_, id, "debuginfo");
  EXPECT_FALSE(std::filesystem::exists(entry + "/debuginfo"));
  forget_absence(folder_, id, "debuginfo");
}

}  // namespace
}  // namespace tephra::objects
