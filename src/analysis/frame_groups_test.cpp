#include "analysis/frame_groups.h"

#include <gtest/gtest.h>

#include "analysis/profile_for_tests.h"

namespace tephra::analysis {
namespace {

TEST(FrameGroups, PackagesAsLanguagesWriteThem) {
  const std::pair<const char*, const char*> cases[] = {
      {"std::sort<int*>", "std"},
      {"void boost::asio::run<int>(int)", "boost"},
      {"<alloc::vec::Vec<T> as core::ops::Drop>::drop", "alloc"},
      {"core::fmt::Formatter::pad", "core"},
      {"(anonymous namespace)::f", ""},
      {"github.com/me/app/store.(*Table).Get", "github.com/me/app/store"},
      {"runtime.mallocgc", "runtime"},
      {"main.main.func1", "main"},
      {"net/http.(*conn).serve", "net/http"},
      {"slices.SortFunc[go.shape.[]github.com/x/y.Z]", "slices"},
      {"Ljava/util/HashMap;::put", "java.util"},
      {"java/util/HashMap.put", "java.util"},
      {"java.util.HashMap.put", "java.util"},
      {"py::handle:/srv/app/views.py", "views"},
      {"LazyCompile:*next /srv/node_modules/express/lib/router.js:42", "express"},
      {"JS:*f /srv/node_modules/@scope/kit/x.js:1", "@scope/kit"},
      {"malloc", ""},
      {"[unknown] libc.so.6+0x12", ""},
      {"", ""},
      {"::", ""},
      {"...", ""},
      {"/", ""},
  };
  for (const auto& [name, package] : cases) EXPECT_EQ(package_of(name), package) << name;
}

TEST(FrameGroups, ModulesAndKernel) {
  TestProfile made;
  made.add("main;memcpy@/usr/lib/libc.so.6;vfs_read@[kernel]", 1, 1);
  const auto profile = made.finish();
  const auto tree = call_tree(profile);
  std::vector<std::string> modules;
  std::vector<std::string> packages;
  for (const CallNode& node : tree.nodes) {
    modules.push_back(group_of(profile, node, tree.name(node), GroupBy::kModule));
    packages.push_back(group_of(profile, node, tree.name(node), GroupBy::kPackage));
    EXPECT_EQ(group_of(profile, node, tree.name(node), GroupBy::kSource),
              tree.name(node).kind == FrameKind::kKernel ? "[kernel]" : "");
  }
  EXPECT_EQ(modules, (std::vector<std::string>{"", "", "prog", "libc.so.6", "[kernel]"}));
  EXPECT_EQ(packages, (std::vector<std::string>{"", "", "", "", "[kernel]"}));
}

}  // namespace
}  // namespace tephra::analysis
