#include "analysis/diff_names.h"

#include <gtest/gtest.h>

namespace tephra::analysis {
namespace {

TEST(DiffNames, ClonesAreTheirFunction) {
  for (const char* name : {"parse", "parse.constprop.0", "parse.isra.0", "parse.part.0", "parse.cold", "parse.cold.12",
                           "parse.lto_priv.3", "parse.llvm.1234567890", "parse.part.0.isra.0.cold",
                           "parse [clone .constprop.0]", "parse [clone .part.0] [clone .cold]", "parse.localalias"}) {
    EXPECT_EQ(name_across_builds(name), "parse") << name;
  }
}

TEST(DiffNames, NamesThatOnlyLookLikeClonesStay) {
  for (const char* name : {"main.cold_start", "runtime.main", "main.main.func1", "a.12", "v1.2", ".cold", "_start",
                           "read@plt", "operator[]", "f<1>", "x::h123", "frob#2", "std::array<int, 12>::at"}) {
    EXPECT_EQ(name_across_builds(name), name);
  }
}

TEST(DiffNames, NumbersOfLambdasAndHashesGo) {
  EXPECT_EQ(name_across_builds("run(int)::{lambda(int)#2}::operator()"), "run(int)::{lambda(int)#}::operator()");
  EXPECT_EQ(name_across_builds("main::'lambda0'(int)"), "main::'lambda'(int)");
  EXPECT_EQ(name_across_builds("main::$_12::operator()"), "main::$_::operator()");
  EXPECT_EQ(name_across_builds("app::main::{closure#0}"), "app::main::{closure#}");
  EXPECT_EQ(name_across_builds("app::run::h0123456789abcdef"), "app::run");
  EXPECT_EQ(name_across_builds("app::run::h0123456789abcdef.llvm.77"), "app::run");
  EXPECT_EQ(name_across_builds("name[abi:cxx11]"), "name");
  EXPECT_EQ(name_across_builds("App$$Lambda$14/0x0000000800c03000.run"), "App$$Lambda$.run");
  EXPECT_EQ(name_across_builds("App.lambda$main$0"), "App.lambda$main$");
  EXPECT_EQ(name_across_builds("bpf_prog_6deef7357e7b4530_count"), "bpf_prog_count");
  EXPECT_EQ(name_across_builds("[unknown] libfoo.so+0x1200"), "[unknown] libfoo.so");
  EXPECT_EQ(name_across_builds("[unknown] 0x7f1077af2ad7"), "[unknown]");
}

TEST(DiffNames, TemplatesAreMergedWhereAsked) {
  EXPECT_EQ(name_across_builds("sort<int*>"), "sort<int*>");
  EXPECT_EQ(name_across_builds("sort<int*>", {.merge_templates = true}),
            name_across_builds("sort<long*>", {.merge_templates = true}));
}

TEST(DiffNames, VersionsOfLibraries) {
  EXPECT_EQ(module_across_builds("/lib/x86_64-linux-gnu/libc-2.31.so"), "libc.so");
  EXPECT_EQ(module_across_builds("/lib/libc.so.6"), "libc.so");
  EXPECT_EQ(module_across_builds("/usr/lib/libfoo-bar.so.1.2"), "libfoo-bar.so");
  EXPECT_EQ(module_across_builds("/opt/app/server"), "server");
}

TEST(DiffNames, Likeness) {
  EXPECT_EQ(name_likeness("parse", "parse"), 1);
  EXPECT_GT(name_likeness("parse_number", "parse_number_fast"), 0.8);
  EXPECT_LT(name_likeness("parse_number", "flush"), 0.1);
  EXPECT_EQ(name_likeness("a", "b"), 0);
}

}  // namespace
}  // namespace tephra::analysis
