#include "stream/chain_maker.h"

#include <gtest/gtest.h>

#include <optional>

#include "stream/profile_builder.h"
#include "stream/profile_for_tests.h"
#include "stream/recording_for_tests.h"

namespace tephra::stream {
namespace {

using Rows = std::vector<std::string>;

constexpr uint64_t kKernel = 0xffffffff81000000;
constexpr uint64_t kX86Mask = 0xff0fff;

// Answers every walk with the same addresses, and remembers what it was asked.
class FixedUnwinder : public Unwinder {
 public:
  std::vector<uint64_t> addresses;
  WalkEnd end = TEPHRA_WALK_OUTERMOST;
  std::string machine;
  RawStack asked;
  std::optional<MappedRange> leaf_range;  // what was mapped at the first address
  JitCode::View code = 0;                 // what it had generated
  int walkers = 0;

  std::unique_ptr<Walker> walker(const AddressSpaces& spaces, const JitCode&, const model::Profile&,
                                 std::string_view name) override {
    machine = name;
    ++walkers;
    if (name != "x86_64" && name != "aarch64") return nullptr;
    return std::make_unique<FixedWalker>(*this, spaces);
  }

 private:
  class FixedWalker : public Walker {
   public:
    FixedWalker(FixedUnwinder& owner, const AddressSpaces& spaces) : owner_(owner), spaces_(spaces) {}
    WalkEnd walk(const RawStack& raw, const ProcessMemory& memory, std::vector<uint64_t>& out) override {
      owner_.asked = raw;
      owner_.code = memory.code;
      const MappedRange* range = spaces_.find(memory.space, owner_.addresses.at(0));
      if (range != nullptr) owner_.leaf_range = *range;
      out.insert(out.end(), owner_.addresses.begin(), owner_.addresses.end());
      return owner_.end;
    }

   private:
    FixedUnwinder& owner_;
    const AddressSpaces& spaces_;
  };
};

class ChainMakerTest : public testing::Test {
 protected:
  ChainMakerTest() : test_(TestRecording::kUsual | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER) {
    test_.layout().sample_regs_user = kX86Mask;
    test_.layout().exclude_callchain_user = true;
    test_.mmap2({.time = 1, .start = 0x5000, .size = 0x1000, .path = "/bin/a"});
    sample_.time = 5;
    sample_.ip = 0x5001;
    sample_.registers.assign(20, 0x5001);
    sample_.stack = std::string(64, 's');
    sample_.stack_filled = 64;
    unwinder_.addresses = {0x5001, 0x5008};
  }

  model::Profile build() {
    test_.sample(sample_);
    Recording recording = test_.recording();
    recording.facts.arch = arch_;
    recording.jit = jit_;
    return build_profile(recording, {.unwinder = &unwinder_});
  }

  TestRecording test_;
  TestSample sample_;
  // A perf map of the process that was read before anything else.
  static std::shared_ptr<const JitLog> log_of(std::string_view map) {
    auto log = std::make_shared<JitLog>();
    log->content = map;
    log->batches.push_back({.kind = JitBatch::Kind::kPerfMap, .pid = 1, .content = base::as_bytes(log->content)});
    return log;
  }

  FixedUnwinder unwinder_;
  std::shared_ptr<const JitLog> jit_;
  std::string arch_ = "x86_64";
};

TEST_F(ChainMakerTest, WalkedAddressesStandBehindTheKernels) {
  sample_.misc = PERF_RECORD_MISC_KERNEL;
  sample_.ip = kKernel;
  sample_.callchain = {kTestKernelMarker, kKernel, kKernel + 8};
  const auto profile = build();
  EXPECT_EQ(row_texts(profile), Rows{":1 /bin/a+8r;/bin/a+1;[kernel.kallsyms]+ffffffff81000008r;[kernel.kallsyms]+ffffffff81000000"});
  EXPECT_EQ(profile.samples.walk_end, std::vector<uint8_t>{TEPHRA_WALK_OUTERMOST});
  EXPECT_EQ(profile.facts.engine, "stack copies");
  EXPECT_EQ(profile.quality[model::Reason::stack_copy_not_unwound], 0u);
  EXPECT_EQ(unwinder_.asked.stack.size(), 64u);
  EXPECT_TRUE(unwinder_.asked.full);
  EXPECT_EQ(unwinder_.asked.register_mask, kX86Mask);
}

TEST_F(ChainMakerTest, AChainOfTheUsersOwnIsReplaced) {
  sample_.callchain = {kTestUserMarker, 0x5001, 0x5eee};
  sample_.stack_filled = 40;
  EXPECT_EQ(row_texts(build()), Rows{":1 /bin/a+8r;/bin/a+1"});
  EXPECT_FALSE(unwinder_.asked.full);
}

// What a signal interrupted, and where its handler returns to, are no return addresses.
TEST_F(ChainMakerTest, MarkersTellInstructionsFromReturnAddresses) {
  unwinder_.addresses = {0x5001, kTestUserMarker, 0x5010, kTestUserMarker, 0x5020, 0x5030};
  EXPECT_EQ(row_texts(build()), Rows{":1 /bin/a+30r;/bin/a+20;/bin/a+10;/bin/a+1"});
}

TEST_F(ChainMakerTest, AfterAnExecTheOldMemoryIsWalked) {
  test_.comm(3, 1, 1, "b", true);
  test_.mmap2({.time = 3, .start = 0x9000, .size = 0x1000, .path = "/bin/b"});
  sample_.misc = PERF_RECORD_MISC_KERNEL;
  sample_.ip = kKernel;
  build();
  ASSERT_TRUE(unwinder_.leaf_range);
  EXPECT_EQ(unwinder_.leaf_range->start, 0x5000u);
}

TEST_F(ChainMakerTest, GeneratedCodeIsThatOfTheMoment) {
  build();
  EXPECT_EQ(unwinder_.code, 0u);
  jit_ = log_of("7000 10 made\n");
  build();
  EXPECT_NE(unwinder_.code, 0u);
}

TEST_F(ChainMakerTest, GeneratedCodeIsNotKnownOfMemoryBeforeAnExec) {
  test_.comm(3, 1, 1, "b", true);
  test_.mmap2({.time = 3, .start = 0x9000, .size = 0x1000, .path = "/bin/b"});
  auto log = std::make_shared<JitLog>(*log_of("7000 10 made\n"));
  log->batches[0].earliest = log->batches[0].latest = 4;
  log->batches[0].content = base::as_bytes(log->content);
  jit_ = log;
  sample_.misc = PERF_RECORD_MISC_KERNEL;
  sample_.ip = kKernel;
  build();
  EXPECT_EQ(unwinder_.leaf_range->start, 0x5000u);
  EXPECT_EQ(unwinder_.code, 0u);
}

TEST_F(ChainMakerTest, MachinesThatCannotBeWalkedAreCounted) {
  arch_ = "s390x";
  EXPECT_EQ(build().quality[model::Reason::stack_copy_not_unwound], 1u);
  EXPECT_EQ(unwinder_.walkers, 1);
}

TEST_F(ChainMakerTest, PipesDoNotTellTheMachineButRegistersDo) {
  arch_ = "";
  build();
  EXPECT_EQ(unwinder_.machine, "x86_64");
  test_.layout().sample_regs_user = 0x1ffffffff;
  sample_.registers.assign(33, 0x5001);
  test_.data().clear();
  build();
  EXPECT_EQ(unwinder_.machine, "aarch64");
}

// Samples that were walked in the kernel hold no copy; how the walk ended is in their header.
TEST_F(ChainMakerTest, WalksOfTheKernelTellTheirEnd) {
  sample_.registers_abi = PERF_SAMPLE_REGS_ABI_NONE;
  sample_.stack.clear();
  sample_.callchain = {kTestUserMarker, 0x5002, 0x5009};
  sample_.misc = PERF_RECORD_MISC_USER | TEPHRA_WALK_NO_RULE << TEPHRA_WALK_END_SHIFT;
  const auto profile = build();
  EXPECT_EQ(row_texts(profile), Rows{":1 /bin/a+9r;/bin/a+2"});
  EXPECT_EQ(profile.samples.walk_end, std::vector<uint8_t>{TEPHRA_WALK_NO_RULE});
  EXPECT_EQ(profile.facts.engine, "call-frame tables in the kernel");
  EXPECT_EQ(unwinder_.walkers, 0);
}

TEST_F(ChainMakerTest, GuessedCallersAreToldByWalksOfBothKinds) {
  unwinder_.end = {TEPHRA_WALK_OUTERMOST, true};
  test_.sample(sample_);
  sample_.registers_abi = PERF_SAMPLE_REGS_ABI_NONE;
  sample_.stack.clear();
  sample_.callchain = {kTestUserMarker, 0x5002, 0x5009};
  constexpr int kGuessed = TEPHRA_WALK_NO_RULE | TEPHRA_WALK_GUESSED;
  sample_.misc = PERF_RECORD_MISC_USER | kGuessed << TEPHRA_WALK_END_SHIFT;
  EXPECT_EQ(build().samples.walk_end, (std::vector<uint8_t>{TEPHRA_WALK_OUTERMOST | TEPHRA_WALK_GUESSED, kGuessed}));
}

// perf's own flags are no part of it, and an end that is not known tells nothing.
TEST_F(ChainMakerTest, OtherBitsOfTheHeaderTellNoEnd) {
  sample_.registers_abi = PERF_SAMPLE_REGS_ABI_NONE;
  sample_.stack.clear();
  sample_.callchain = {kTestUserMarker, 0x5002, 0x5009};
  for (const int bits : {PERF_RECORD_MISC_EXACT_IP, 1 << 12, 0xf << TEPHRA_WALK_END_SHIFT,
                         TEPHRA_WALK_GUESSED << TEPHRA_WALK_END_SHIFT}) {
    sample_.misc = static_cast<uint16_t>(PERF_RECORD_MISC_USER | bits);
    test_.sample(sample_);
  }
  const auto profile = build_profile(test_.recording(), {});
  EXPECT_EQ(profile.samples.count, std::vector<uint64_t>{4});
  EXPECT_EQ(profile.samples.walk_end, std::vector<uint8_t>{TEPHRA_WALK_NOT_TOLD});
}

// Equal stacks that ended otherwise are not the same.
TEST_F(ChainMakerTest, SamplesThatEndedOtherwiseAreKeptApart) {
  sample_.registers_abi = PERF_SAMPLE_REGS_ABI_NONE;
  sample_.stack.clear();
  sample_.callchain = {kTestUserMarker, 0x5002, 0x5009};
  for (const int end : {TEPHRA_WALK_OUTERMOST, TEPHRA_WALK_NO_RULE, TEPHRA_WALK_OUTERMOST}) {
    sample_.misc = static_cast<uint16_t>(PERF_RECORD_MISC_USER | end << TEPHRA_WALK_END_SHIFT);
    test_.sample(sample_);
  }
  const auto profile = build_profile(test_.recording(), {});
  EXPECT_EQ(profile.samples.count, (std::vector<uint64_t>{2, 1}));
  EXPECT_EQ(profile.samples.walk_end, (std::vector<uint8_t>{TEPHRA_WALK_OUTERMOST, TEPHRA_WALK_NO_RULE}));
}

TEST(BranchChains, CallSitesAreInstructionsAndFramePointersGoOn) {
  TestRecording test(TestRecording::kUsual | PERF_SAMPLE_BRANCH_STACK);
  test.layout().branch_sample_type =
      PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_HW_INDEX;
  test.mmap2({.time = 1, .start = 0x5000, .size = 0x10000, .path = "/bin/a"});
  TestSample sample{.time = 5, .ip = 0x5001, .callchain = {kTestUserMarker, 0x5001, 0x6015, 0x7015, 0x8015}};
  sample.branches = {0x6010, 0x5000, 0, 0x7010, 0x6000, 0};
  test.sample(sample);
  sample.misc = PERF_RECORD_MISC_KERNEL;
  sample.ip = kKernel;
  sample.callchain = {kTestKernelMarker, kKernel, kTestUserMarker, 0x5001};
  test.sample(sample);
  const auto profile = build_profile(test.recording(), {.keep_every_sample = true});
  EXPECT_EQ(row_texts(profile), (Rows{":1 /bin/a+3015r;/bin/a+2010;/bin/a+1010;/bin/a+1",
                                      ":1 /bin/a+2010;/bin/a+1010;/bin/a+1;[kernel.kallsyms]+ffffffff81000000"}));
  EXPECT_EQ(profile.facts.engine, "branch records");
}

// Branches that are not calls say nothing about callers.
TEST(BranchChains, OtherBranchesAreNoStacks) {
  TestRecording test(TestRecording::kUsual | PERF_SAMPLE_BRANCH_STACK);
  test.layout().branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
  test.mmap2({.time = 1, .start = 0x5000, .size = 0x10000, .path = "/bin/a"});
  TestSample sample{.time = 5, .ip = 0x5001, .callchain = {kTestUserMarker, 0x5001, 0x6015}};
  sample.branches = {0x6010, 0x5000, 0};
  test.sample(sample);
  const auto profile = build_profile(test.recording(), {});
  EXPECT_EQ(row_texts(profile), Rows{":1 /bin/a+1015r;/bin/a+1"});
  EXPECT_EQ(profile.facts.engine, "frame pointers");
}

TEST(BranchChains, StitchedInTheOrderOfTime) {
  TestRecording test(TestRecording::kUsual | PERF_SAMPLE_BRANCH_STACK);
  test.layout().branch_sample_type =
      PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_HW_INDEX;
  TestSample before{.time = 5, .ip = 0x5001, .callchain = {kTestUserMarker, 0x5001}};
  for (uint64_t i = 0; i < 8; ++i) {
    for (const uint64_t word : {0x6010 + 0x100 * i, 0x6000 + 0x100 * i, uint64_t{0}}) before.branches.push_back(word);
  }
  before.hardware_index = 7;
  TestSample after = before;
  after.time = 6;
  after.hardware_index = 0;  // one call deeper
  after.branches.insert(after.branches.begin(), {0x5510, 0x5500, 0});
  after.branches.resize(24);
  test.sample(after).sample(before);
  const auto frames = [](const model::Profile& profile, size_t row) {
    size_t count = 0;
    for (auto stack = profile.samples.stack[row]; stack; stack = profile.stacks[stack].parent) ++count;
    return count;
  };
  for (const bool every : {false, true}) {
    const auto plain = build_profile(test.recording(), {.keep_every_sample = every});
    const auto stitched = build_profile(test.recording(), {.keep_every_sample = every, .stitch_branches = true});
    const size_t last = every ? 1 : 0;  // rows are in the order of the file, or of time
    EXPECT_EQ(frames(plain, last), 9u);
    EXPECT_EQ(frames(stitched, last), 10u);
  }
}

}  // namespace
}  // namespace tephra::stream
