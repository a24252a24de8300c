#include "collect/target_frames.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "collect/library_search.h"
#include "objects/run_tool.h"

namespace tephra::collect {
namespace {

constexpr const char* kWithFrames = "-O1 -fno-omit-frame-pointer";
constexpr const char* kWithoutFrames = "-O1 -fomit-frame-pointer";

// A program of C and its libraries, built in a folder of the test's own.
class TargetFramesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("tephra-frames-{}", ::getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "libs");
    if (objects::run_tool("command -v cc").empty()) GTEST_SKIP() << "there is no compiler";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ / name;
    std::ofstream(path) << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  void compile(const std::string& arguments) const {
    const std::string printed = objects::run_tool(fmt::format("cd {} && cc {} 2>&1", folder_.string(), arguments));
    ASSERT_EQ(printed, "");
  }
  // A function that calls others, so that it has a frame, `calls` being one of them.
  static std::string function(const std::string& name, const std::string& calls) {
    return fmt::format("int {1}(int); int {0}(int n) {{ int s = 0; while (n-- > 0) s += {1}(n); return s; }}\n", name,
                       calls);
  }
  // libs/libinner.so, libs/libouter.so that needs it, and a program that needs that.
  void build(const char* inner, const char* outer, const char* program) const {
    write("inner.c", "int leaf(int n) { return n; }\n" + function("inner", "leaf") + function("more", "inner"));
    write("outer.c", function("outer", "inner"));
    write("program.c", function("work", "outer") + "int main(int c, char** v) { (void)v; return work(c); }\n");
    compile(fmt::format("{} -fPIC -shared inner.c -o libs/libinner.so", inner));
    compile(fmt::format("{} -fPIC -shared outer.c -o libs/libouter.so -Llibs -linner -Wl,-rpath,'$ORIGIN'", outer));
    compile(
        fmt::format("{} program.c -o program -Llibs -louter -Wl,-rpath,'$ORIGIN/libs' "
                    "-Wl,--allow-shlib-undefined",
                    program));
  }
  static TargetFrames survey(const std::string& command) {
    Target target;
    target.command = {command};
    return survey_target(target);
  }

  std::filesystem::path folder_;
};

TEST_F(TargetFramesTest, AllThatTheLoaderBringsKeepsThem) {
  build(kWithFrames, kWithFrames, kWithFrames);
  const TargetFrames frames = survey(folder_ / "program");
  EXPECT_TRUE(frames.known);
  EXPECT_TRUE(frames.kept) << frames.without;
}

TEST_F(TargetFramesTest, ALibraryThatALibraryNeedsDoesNot) {
  build(kWithoutFrames, kWithFrames, kWithFrames);
  const TargetFrames frames = survey(folder_ / "program");
  EXPECT_TRUE(frames.known);
  EXPECT_FALSE(frames.kept);
  EXPECT_EQ(frames.without, "libinner.so");
}

TEST_F(TargetFramesTest, TheProgramItselfDoesNot) {
  build(kWithFrames, kWithFrames, kWithoutFrames);
  EXPECT_EQ(survey(folder_ / "program").without, "program");
}

TEST_F(TargetFramesTest, OfScriptsTheInterpreter) {
  build(kWithoutFrames, kWithFrames, kWithFrames);
  const std::string direct = write("direct", fmt::format("#!{} -x\n", (folder_ / "program").string()));
  EXPECT_EQ(survey(direct).without, "libinner.so");
  const std::string by_env =
      write("by_env", fmt::format("#! /usr/bin/env -S A=1 {} -u\nexit\n", (folder_ / "program").string()));
  EXPECT_EQ(survey(by_env).without, "libinner.so");
  EXPECT_FALSE(survey(write("neither", "text")).known);
  EXPECT_FALSE(survey(write("itself", fmt::format("#!{}\n", (folder_ / "itself").string()))).known);
}

TEST_F(TargetFramesTest, WhatIsNotThere) {
  EXPECT_FALSE(survey("/no/such/program").known);
  build(kWithFrames, kWithFrames, kWithFrames);
  std::filesystem::remove(folder_ / "libs/libinner.so");
  EXPECT_TRUE(survey(folder_ / "program").kept);
}

TEST_F(TargetFramesTest, AProcessAndItsProgramGiveTheSame) {
  Target process;
  process.processes = {::getpid()};
  const TargetFrames attached = survey_target(process);
  const TargetFrames started = survey(std::filesystem::read_symlink("/proc/self/exe"));
  EXPECT_TRUE(started.known);
  EXPECT_EQ(started.kept, attached.kept);
}

TEST_F(TargetFramesTest, FoldersOfTheLoadersConfiguration) {
  write("libs/one.conf", "/opt/one # a word\n\n  /opt/two/lib\t\n");
  const std::string main = write("main.conf", "# nothing\ninclude libs/*.conf\nhwcap ignored\n/last\n");
  EXPECT_EQ(configured_folders(main), (std::vector<std::string>{"/opt/one", "/opt/two/lib", "/last"}));
  // One that includes itself comes to an end.
  const std::string circle = write("circle.conf", "/a\ninclude circle.conf\n");
  EXPECT_EQ(configured_folders(circle).front(), "/a");
  EXPECT_TRUE(configured_folders("/no/such/file").empty());
}

TEST(LibrarySearch, FoldersThatTheFileNames) {
  EXPECT_EQ(search_folders("$ORIGIN/../lib::${ORIGIN}:/x", "/opt/bin/it"),
            (std::vector<std::string>{"/opt/bin/../lib", "/opt/bin", "/x"}));
  EXPECT_EQ(search_folders("$ORIGIN", "it"), std::vector<std::string>{"."});
  EXPECT_EQ(search_folders("$ORIGIN/l", "/it"), std::vector<std::string>{"//l"});
  const LibrarySearch search;
  objects::DynamicSection section;
  section.runpath = "/own";
  const auto by_runpath = search.candidates("libx.so", "/bin/it", section, {"/programs"});
  EXPECT_EQ(std::count(by_runpath.begin(), by_runpath.end(), "/programs/libx.so"), 0);
  EXPECT_EQ(std::count(by_runpath.begin(), by_runpath.end(), "/own/libx.so"), 1);
  section = {};
  section.rpath = "/own";
  const auto by_rpath = search.candidates("libx.so", "/bin/it", section, {"/programs"});
  ASSERT_GT(by_rpath.size(), 2u);
  EXPECT_EQ(by_rpath[0], "/own/libx.so");
  EXPECT_EQ(by_rpath[1], "/programs/libx.so");
  EXPECT_EQ(search.candidates("/a/libx.so", "/bin/it", section, {}), std::vector<std::string>{"/a/libx.so"});
}

}  // namespace
}  // namespace tephra::collect
