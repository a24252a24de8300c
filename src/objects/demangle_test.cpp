#include "objects/demangle.h"

#include <gtest/gtest.h>

#include <chrono>

namespace tephra::objects {
namespace {

TEST(Demangle, GnuSpellingWithoutParameters) {
  EXPECT_EQ(demangle("_ZN2ns1fIiEEvT_"), "ns::f<int>");
  EXPECT_EQ(demangle("_ZZ4mainENKUlvE_clEv"), "main::{lambda()#1}::operator()");
  EXPECT_EQ(demangle("_ZNSt6vectorIiSaIiEE9push_backEOi"), "std::vector<int, std::allocator<int> >::push_back");
  EXPECT_EQ(demangle("_ZN12_GLOBAL__N_14workEv"), "(anonymous namespace)::work");
}

TEST(Demangle, FullNamesHaveParameters) {
  EXPECT_EQ(demangle("_ZN2ns1fIiEEvT_", Parameters::kShow), "void ns::f<int>(int)");
  EXPECT_EQ(demangle("_Z3addii", Parameters::kShow), "add(int, int)");
  EXPECT_EQ(demangle("_Z3addii.constprop.0", Parameters::kShow), "add(int, int) [clone .constprop.0]");
}

TEST(Demangle, ClonesAsPerfShowsThem) {
  EXPECT_EQ(demangle("_Z3addii.constprop.0"), "add");
  EXPECT_EQ(demangle("compute.isra.0"), "compute.isra.0");
  EXPECT_EQ(demangle("_ZN2ns1fEv.cold"), "ns::f");
}

TEST(Demangle, Rust) {
  EXPECT_EQ(demangle("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE"), "core::fmt::Formatter::write_str");
  EXPECT_EQ(demangle("_RNvC6_123foo3bar"), "123foo::bar");
  EXPECT_EQ(demangle("_RNvNtCs1234_7mycrate3foo3bar"), "mycrate::foo::bar");
}

TEST(Demangle, D) {
  EXPECT_EQ(demangle("_Dmain"), "D main");
  EXPECT_EQ(demangle("_D3std5stdio7writelnFZv"), "std.stdio.writeln()");
}

TEST(Demangle, OtherNamesStayAsTheyAre) {
  for (const char* name : {"", "main", "_Z", "_R", "_D", "_Zfoo", "_Data", "memcpy@@GLIBC_2.14", "_start",
                           "__libc_start_main", "py::f:/a b.py", "LZ4_compress"}) {
    EXPECT_EQ(demangle(name), name);
  }
}

TEST(Demangle, TruncatedNameShowsItsPrefix) {
  EXPECT_EQ(
      demangle("_ZZZN4tcqa5table6common16CommonThreadPool18SubmitWithSyncWaitIZNS0_8filemeta19CheckpointGenerator3run"
               "EPvEUlvE_"),
      "tcqa::table::common::CommonThreadPool::SubmitWithSyncWait<…> [truncated]");
  EXPECT_EQ(demangle("_ZN4tcqa5tab"), "tcqa::tab… [truncated]");
  EXPECT_EQ(demangle("_ZNSt6vectorIiSaI"), "std::vector<…> [truncated]");
}

TEST(Demangle, EveryPrefixOfANameIsReadableOrUnchanged) {
  const std::string whole =
      "_ZN4tcqa5table6common16CommonThreadPool18SubmitWithSyncWaitIZNS0_8filemeta3runEPvEUlvE_EEvT_";
  ASSERT_EQ(demangle(whole).find("tcqa::table::common::CommonThreadPool::SubmitWithSyncWait<"), 0u);
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string shown = demangle(whole.substr(0, size));
    EXPECT_TRUE(shown == whole.substr(0, size) || shown.starts_with("tc") || shown.starts_with("t…")) << shown;
  }
}

// Each substitution doubles the text: 2^n characters from a few n.
std::string doubling_name(int levels) {
  std::string name = "_Z1fI1AIiiE";
  for (int i = 0; i < levels; ++i) {
    const std::string reference =
        i == 0 ? "S0_" : std::string("S") + "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36] + "_";
    name += "1AI" + reference + reference + "E";
  }
  return name + "EvT_";
}

TEST(Demangle, HostileNamesAreBounded) {
  const auto start = std::chrono::steady_clock::now();
  for (int levels = 1; levels < 34; ++levels) EXPECT_LE(demangle(doubling_name(levels)).size(), 64u << 10);
  for (const size_t size : {100u, 1000u, 5000u, 100000u}) {
    for (const char* letter : {"P", "N", "Z", "I", "F", "K", "S_", "T_", "1a", "X", "dv", "cv", "J", "L"}) {
      std::string name = "_Z1fI";
      while (name.size() < size) name += letter;
      EXPECT_LE(demangle(name).size(), std::max<size_t>(64 << 10, size + 8));
      std::string rust = "_R";
      while (rust.size() < size) rust += letter;
      EXPECT_LE(demangle(rust).size(), std::max<size_t>(64 << 10, size + 8));
      std::string d = "_D1a";
      while (d.size() < size) d += letter;
      EXPECT_LE(demangle(d).size(), std::max<size_t>(64 << 10, size + 8));
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Demangle, LongRealNamesAreShown) {
  std::string name = "_ZN1aI";
  for (int i = 0; i < 400; ++i) name += "1bIiE";
  name += "E1fEv";
  ASSERT_GT(name.size(), 1024u);
  EXPECT_TRUE(demangle(name).starts_with("a<b<int>, b<int>, "));
}

}  // namespace
}  // namespace tephra::objects
