#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace tephra::kernel {

// A folder that plays a machine's /proc, /sys and other files.
class MachineForTests {
 public:
  MachineForTests() {
    std::string name = testing::TempDir() + "tephra-machine-XXXXXX";
    root_ = std::filesystem::canonical(::mkdtemp(name.data())).string();
  }
  ~MachineForTests() { std::filesystem::remove_all(root_); }
  MachineForTests(const MachineForTests&) = delete;
  MachineForTests& operator=(const MachineForTests&) = delete;

  const std::string& root() const { return root_; }
  void folder(const std::string& path) { std::filesystem::create_directories(root_ + path); }
  void write(const std::string& path, const std::string& text) {
    folder(path.substr(0, path.rfind('/')));
    std::ofstream(root_ + path) << text;
  }
  void link(const std::string& path, const std::string& target) {
    folder(path.substr(0, path.rfind('/')));
    std::filesystem::create_symlink(target, root_ + path);
  }

 private:
  std::string root_;
};

}  // namespace tephra::kernel
