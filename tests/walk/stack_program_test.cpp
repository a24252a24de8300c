#include "kernel/stack_program.h"

#include <gtest/gtest.h>

#include "abi/walk_end.h"
#include "walked_process.h"

namespace tephra::walk {
namespace {

using kernel::StackProgram;

class StackProgramTest : public testing::Test {
 protected:
  bool load(StackProgram::Settings settings = {}) {
    auto loaded = StackProgram::load(settings);
    if (!loaded.ok()) {
      reason_ = loaded.error().message();
      return false;
    }
    program_ = std::move(loaded).value();
    teller_ = std::make_unique<Teller>(*program_);
    return true;
  }
  std::string reason_;
  std::unique_ptr<StackProgram> program_;
  std::unique_ptr<Teller> teller_;
};

// Recursion in code without frame pointers, whose frames have different sizes.
__attribute__((noinline, optimize("omit-frame-pointer"))) uint64_t descend(OwnStack& stack, int depth, uint64_t x) {
  volatile char room[24];
  room[depth % 24] = static_cast<char>(x);
  if (depth == 0) {
    note_stack(stack);
    stack.ready = 1;
    while (stack.stop == 0) x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
  }
  return descend(stack, depth - 1, x + 1) + static_cast<uint64_t>(room[depth % 24]);
}

// The walked frames must be those that libgcc's unwinder saw: all but the innermost, which goes on.
void expect_own_stack(const Sample& sample, const OwnStack& stack) {
  ASSERT_EQ(sample.user.size(), static_cast<size_t>(stack.count));
  for (int i = 1; i < stack.count; ++i) {
    ASSERT_EQ(sample.user[static_cast<size_t>(i)], reinterpret_cast<uint64_t>(stack.frames[i])) << "frame " << i;
  }
}

TEST_F(StackProgramTest, WalksRecursionWithoutFramePointers) {
  if (!load()) GTEST_SKIP() << reason_;
  const Child child([](OwnStack& stack) { descend(stack, 40, 1); });
  child.wait_until_ready();
  Sampler sampler(child.pid(), {});
  ASSERT_TRUE(sampler.open());
  ASSERT_TRUE(program_->attach(sampler.fd(), 77, false).ok());
  const auto told = teller_->tell(child.pid());
  ASSERT_TRUE(told.ok()) << told.error().message();
  sampler.enable();
  const Taken taken = take_until(*program_, 200);
  ASSERT_GE(taken.samples.size(), 200u);
  EXPECT_TRUE(taken.wanted.empty());
  for (const Sample& sample : taken.samples) {
    EXPECT_EQ(sample.end(), TEPHRA_WALK_OUTERMOST);
    EXPECT_EQ(sample.identifier, 77u);
    EXPECT_EQ(sample.pid, child.pid());
    EXPECT_EQ(sample.tid, child.pid());
    expect_own_stack(sample, child.stack());
  }
  const auto totals = program_->totals();
  EXPECT_EQ(totals.lost, 0u);
  RecordProperty("verified_instructions", std::to_string(totals.verified_instructions));
  printf("verified %lu\n", totals.verified_instructions);
}

}  // namespace
}  // namespace tephra::walk
