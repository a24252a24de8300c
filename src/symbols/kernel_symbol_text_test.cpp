#include "symbols/kernel_symbol_text.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace tephra::symbols {
namespace {

class KernelSymbolTextTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "kernel_symbol_text";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    list("first");
    boot("11111111-2222-3333-4444-555555555555\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const char* name) const { return folder_ + "/" + name; }
  void list(const std::string& name) {
    std::ofstream(path("kallsyms")) << "0000000000000000 A fixed_percpu_data\nffffffff81000000 T _text\n"
                                       "ffffffff81000100 T "
                                    << name
                                    << "\nffffffff81002000 T _etext\nffffffffc0000000 t in_module\t[module]\n";
  }
  void boot(const std::string& id) { std::ofstream(path("boot_id")) << id; }

  std::string name_of(uint64_t address) const {
    objects::Kallsyms symbols({address});
    KernelSymbolText(path("kallsyms"), path("boot_id"), base::DiskCache(path("cache"))).read_into(symbols);
    const auto* found = symbols.find(address);
    return found != nullptr ? found->name : "nothing";
  }

  std::string folder_;
};

constexpr uint64_t kInFirst = 0xffffffff81000110;
constexpr uint64_t kInModule = 0xffffffffc0000010;

TEST_F(KernelSymbolTextTest, TheImageIsReadOnceABoot) {
  EXPECT_EQ(name_of(kInFirst), "first");
  list("another");
  EXPECT_EQ(name_of(kInFirst), "first");
  boot("99999999-2222-3333-4444-555555555555\n");
  EXPECT_EQ(name_of(kInFirst), "another");
}

TEST_F(KernelSymbolTextTest, ModulesAreAskedForEachTime) {
  EXPECT_EQ(name_of(kInFirst), "first");
  list("another");
  EXPECT_EQ(name_of(kInModule), "in_module");
  std::ofstream(path("kallsyms"), std::ios::app) << "ffffffffc0000008 t loaded_since\t[other]\n";
  EXPECT_EQ(name_of(kInModule), "loaded_since");
}

TEST_F(KernelSymbolTextTest, WithoutABootIdNothingIsKept) {
  std::filesystem::remove(path("boot_id"));
  EXPECT_EQ(name_of(kInFirst), "first");
  list("another");
  EXPECT_EQ(name_of(kInFirst), "another");
}

TEST_F(KernelSymbolTextTest, HiddenSymbolsAreNotKept) {
  std::ofstream(path("kallsyms")) << "0000000000000000 T _text\n0000000000000000 T first\n0000000000000000 T _etext\n";
  EXPECT_EQ(name_of(kInFirst), "nothing");
  list("first");
  EXPECT_EQ(name_of(kInFirst), "first");
}

}  // namespace
}  // namespace tephra::symbols
