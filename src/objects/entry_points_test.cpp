#include "objects/entry_points.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unwind.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "objects/call_frames.h"

namespace tephra::objects {
namespace {

std::vector<uintptr_t> return_addresses() {
  std::vector<uintptr_t> addresses;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* out) {
        static_cast<std::vector<uintptr_t>*>(out)->push_back(_Unwind_GetIP(context));
        return _URC_NO_REASON;
      },
      &addresses);
  return addresses;
}

// The libraries of the frames whose function is an entry point.
std::vector<std::string> libraries_of_entries(const std::vector<uintptr_t>& addresses) {
  std::vector<std::string> found;
  for (const uintptr_t address : addresses) {
    Dl_info module{};
    if (::dladdr(reinterpret_cast<void*>(address - 1), &module) == 0) continue;
    const auto file = base::FileContent::open(module.dli_fname);
    if (!file) continue;
    const auto elf = ElfFile::parse(file->bytes());
    if (!elf) continue;
    const uint64_t linked = address - 1 - reinterpret_cast<uintptr_t>(module.dli_fbase);
    const CallFrames frames(*elf);
    const auto facts = frames.find(linked);
    if (facts && EntryPoints(*elf, frames).contains(facts->function_start)) found.emplace_back(module.dli_fname);
  }
  return found;
}

bool any_contains(const std::vector<std::string>& texts, std::string_view part) {
  return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) { return text.find(part) != text.npos; });
}

TEST(EntryPoints, FindsTheCallerOfMain) {
#ifndef __x86_64__
  GTEST_SKIP() << "entry points are found on x86-64 only";
#endif
  const auto found = libraries_of_entries(return_addresses());
  EXPECT_TRUE(any_contains(found, "libc.so"));
  EXPECT_FALSE(any_contains(found, "tephra_tests"));
}

TEST(EntryPoints, FindsWhereThreadsBegin) {
#ifndef __x86_64__
  GTEST_SKIP() << "entry points are found on x86-64 only";
#endif
  std::vector<uintptr_t> addresses;
  std::thread([&] { addresses = return_addresses(); }).join();
  const auto found = libraries_of_entries(addresses);
  EXPECT_TRUE(any_contains(found, "libc.so"));
  EXPECT_TRUE(any_contains(found, "libstdc++"));
}

}  // namespace
}  // namespace tephra::objects
