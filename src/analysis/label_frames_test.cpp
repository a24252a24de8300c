#include "analysis/label_frames.h"

#include <gtest/gtest.h>

#include "model/profile_assembler.h"

namespace tephra::analysis {
namespace {

using model::ProfileAssembler;

class LabelFrames : public testing::Test {
 protected:
  void SetUp() override {
    const auto event = assembler_.event({assembler_.string("e"), assembler_.string("bytes")});
    const auto thread = assembler_.thread({1, 1, assembler_.string("prog")});
    const auto main = assembler_.stack({}, frame("main"));
    const auto work = assembler_.stack(main, frame("work"));
    add(work, event, thread, "heap");
    add(main, event, thread, "file");
    add(work, event, thread, "file");
    add(work, event, thread, "");
    profile_ = std::move(assembler_).finish();
  }

  std::vector<std::string> stacks() const {
    std::vector<std::string> texts;
    for (const model::StackId stack : profile_.samples.stack) {
      std::string text;
      for (auto at = stack; at; at = profile_.stacks[at].parent) {
        EXPECT_LT(profile_.stacks[at].parent.value, at.value);
        const std::string name(profile_.function_name(profile_.stacks[at].frame));
        text = text.empty() ? name : name + ";" + text;
      }
      texts.push_back(text);
    }
    return texts;
  }

  model::Profile profile_;

 private:
  model::FrameId frame(std::string_view name) {
    const auto text = assembler_.string(name);
    return assembler_.frame({.address = name.size(), .function = assembler_.function({text, text, true})});
  }
  void add(model::StackId stack, model::EventId event, model::ThreadId thread, std::string_view label) {
    ProfileAssembler::Sample sample{.stack = stack, .event = event, .thread = thread};
    sample.count = 1;
    if (!label.empty())
      sample.labels = assembler_.labels({{assembler_.string("class"), assembler_.string(label), 0, {}}});
    assembler_.sample(sample);
  }

  ProfileAssembler assembler_;
};

TEST_F(LabelFrames, MayBeNamedByTheTextAlone) {
  ASSERT_TRUE(add_label_frames(profile_, "class", LabelPlace::kLeaf, LabelNaming::kText));
  EXPECT_EQ(stacks(), (std::vector<std::string>{"main;work;[heap]", "main;[file]", "main;work;[file]", "main;work"}));
}

TEST_F(LabelFrames, LeavesAreInnermost) {
  ASSERT_TRUE(add_label_frames(profile_, "class", LabelPlace::kLeaf));
  const std::vector<std::string> expected{"main;work;class:heap", "main;class:file", "main;work;class:file",
                                          "main;work"};
  EXPECT_EQ(stacks(), expected);
}

TEST_F(LabelFrames, RootsAreOutermostAndShareTheirStacks) {
  ASSERT_TRUE(add_label_frames(profile_, "class", LabelPlace::kRoot));
  const std::vector<std::string> expected{"class:heap;main;work", "class:file;main", "class:file;main;work",
                                          "main;work"};
  EXPECT_EQ(stacks(), expected);
  EXPECT_EQ(profile_.stacks[profile_.samples.stack[2]].parent, profile_.samples.stack[1]);
}

TEST_F(LabelFrames, ALabelThatNobodyHasChangesNothing) {
  const size_t before = profile_.stacks.size();
  EXPECT_FALSE(add_label_frames(profile_, "device", LabelPlace::kRoot));
  EXPECT_EQ(profile_.stacks.size(), before);
}

}  // namespace
}  // namespace tephra::analysis
