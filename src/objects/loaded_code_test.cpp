#include "objects/loaded_code.h"

#include <gtest/gtest.h>

#include "objects/cfi_for_tests.h"

namespace tephra::objects {
namespace {

TEST(LoadedCode, BeginsInExecutableSegmentsAlone) {
  ElfForTests made;
  made.sections = {{".text", 0x2000, std::string(0x100, '\x90'), true},
                   {".rodata", 0x3000, std::string(0x100, '\0')},
                   {".init", 0x1000, std::string(0x10, '\x90'), true}};
  const std::string bytes = made.bytes();
  const LoadedCode code(ElfFile::parse(base::as_bytes(bytes)).value());
  for (const uint64_t address : {0x1000, 0x100f, 0x2000, 0x20ff}) EXPECT_TRUE(code.may_begin_at(address)) << address;
  for (const uint64_t address : {0, 1, 0xfff, 0x1010, 0x2100, 0x3000}) EXPECT_FALSE(code.may_begin_at(address));
  for (const uint64_t address : {UINT64_MAX, UINT64_MAX - 1}) EXPECT_FALSE(code.may_begin_at(address));
}

TEST(LoadedCode, AnywhereInFilesWithoutSegments) {
  const LoadedCode code((ElfFile()));
  EXPECT_TRUE(code.may_begin_at(0));
  EXPECT_TRUE(code.may_begin_at(0x1234));
  for (const uint64_t address : {UINT64_MAX, UINT64_MAX - 1}) EXPECT_FALSE(code.may_begin_at(address));
}

}  // namespace
}  // namespace tephra::objects
