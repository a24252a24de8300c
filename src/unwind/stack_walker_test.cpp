#include "unwind/stack_walker.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstring>
#include <map>
#include <random>

#include "model/profile_assembler.h"
#include "objects/cfi_for_tests.h"
#include "unwind/table_for_tests.h"

namespace tephra::unwind {
namespace {

using stream::AddressSpaces;
using stream::RawStack;

constexpr uint64_t kCode = 0x400000;    // a file with a table; file offset 0x1000
constexpr uint64_t kBare = 0x500000;    // memory without a file
constexpr uint64_t kAbsent = 0x600000;  // a file that is not at hand
constexpr uint64_t kSize = 0x10000;
constexpr uint64_t kOffset = 0x1000;
constexpr uint64_t kStack = 0x7fff0000;
constexpr uint64_t kMarker = static_cast<uint64_t>(PERF_CONTEXT_USER);

// perf's masks: x86-64 without segments, ARM64 with all.
constexpr uint64_t kX86Mask = 0xff0fff;
constexpr uint64_t kArmMask = 0x1ffffffff;

class StackWalkerTest : public testing::Test {
 protected:
  StackWalkerTest() {
    map(kCode, kOffset, {.path = assembler_.string("/bin/app"), .kind = model::CodeKind::kFile});
    map(kBare, kBare, {.path = assembler_.string("//anon"), .kind = model::CodeKind::kAnonymous});
    map(kAbsent, 0, {.path = assembler_.string("/bin/absent"), .kind = model::CodeKind::kFile});
  }

  void map(uint64_t start, uint64_t offset, const model::Mapping& mapping) {
    space_ = spaces_.map(space_, {start, start + kSize, offset, assembler_.mapping(mapping)});
  }
  // Where in the file code at an address of kCode is.
  static uint32_t at(uint64_t address) { return static_cast<uint32_t>(address - kCode + kOffset); }

  void word(uint64_t address, uint64_t value) {
    const size_t offset = address - kStack;
    if (stack_.size() < offset + 8) stack_.resize(offset + 8);
    std::memcpy(stack_.data() + offset, &value, 8);
  }

  stream::WalkEnd walk(uint64_t pc, uint64_t fp = 0, uint64_t sp = kStack) {
    const bool arm = machine_ == Machine::kArm64;
    std::map<int, uint64_t> values = registers_;
    values[arm ? 29 : 6] = fp;
    values[arm ? 31 : 7] = sp;
    values[arm ? 32 : 8] = pc;
    std::vector<uint64_t> words;
    for (int i = 0; i < 64; ++i) {
      if (mask_ >> i & 1) words.push_back(values[i]);
    }
    const RawStack raw{abi_, mask_, std::as_bytes(std::span(words)), std::as_bytes(std::span(stack_)), full_};
    StackWalker walker(machine_, spaces_, code_, assembler_.so_far(), [&](const model::Mapping& mapping) {
      ++asked_;
      return assembler_.so_far().text(mapping.path) == "/bin/app" ? table_.table() : nullptr;
    });
    addresses_.clear();
    return walker.walk(raw, {space_, view_}, addresses_);
  }

  Machine machine_ = Machine::kX86_64;
  uint64_t mask_ = kX86Mask;
  uint64_t abi_ = PERF_SAMPLE_REGS_ABI_64;
  bool full_ = false;
  std::map<int, uint64_t> registers_;  // by perf's numbers
  model::ProfileAssembler assembler_;
  AddressSpaces spaces_;
  AddressSpaces::State space_ = AddressSpaces::kEmpty;
  stream::JitCode code_;
  stream::JitCode::View view_ = 0;
  TestTable table_;
  std::vector<char> stack_;
  std::vector<uint64_t> addresses_;
  int asked_ = 0;
};

TEST_F(StackWalkerTest, FollowsRulesToTheOutermostFrame) {
  table_.row(at(kCode), test_rule_by_sp(24));          // leaf
  table_.row(at(kCode + 0x100), test_rule_by_sp(16));  // middle
  table_.row(at(kCode + 0x200), {.cfa = TEPHRA_CFA_OUTERMOST});
  word(kStack + 16, kCode + 0x150);
  word(kStack + 32, kCode + 0x208);
  EXPECT_EQ(walk(kCode + 8), TEPHRA_WALK_OUTERMOST);
  EXPECT_EQ(addresses_, (std::vector<uint64_t>{kCode + 8, kCode + 0x150, kCode + 0x208}));
  EXPECT_EQ(asked_, 1);
}

// A call that never returns is the last instruction of its function: the row behind it is another function's.
TEST_F(StackWalkerTest, TakesTheRuleBeforeAReturnAddress) {
  table_.row(at(kCode), test_rule_by_sp(8));
  table_.row(at(kCode + 0x100), test_rule_by_sp(16));
  table_.row(at(kCode + 0x200), {.cfa = TEPHRA_CFA_UNSUPPORTED});
  table_.row(at(kCode + 0x300), {.cfa = TEPHRA_CFA_OUTERMOST});
  word(kStack, kCode + 0x200);
  word(kStack + 16, kCode + 0x301);
  EXPECT_EQ(walk(kCode + 8), TEPHRA_WALK_OUTERMOST);
  EXPECT_EQ(addresses_.size(), 3u);
}

TEST_F(StackWalkerTest, FramePointerIsFollowedThroughFunctionsThatSavedIt) {
  table_.row(at(kCode), test_rule_by_sp(8));
  tephra_frame_rule pushed = test_rule_by_sp(16);
  pushed.fp = TEPHRA_SAVED_AT_CFA;
  pushed.fp_offset = -16;
  table_.row(at(kCode + 0x100), pushed);
  table_.row(at(kCode + 0x200), test_rule_by_fp());
  table_.row(at(kCode + 0x300), {.cfa = TEPHRA_CFA_OUTERMOST});
  word(kStack, kCode + 0x110);       // to the function that pushed
  word(kStack + 8, kStack + 0x40);   // the pushed frame pointer
  word(kStack + 16, kCode + 0x210);  // to the one with a frame
  word(kStack + 0x40, 0xdead);       // its caller's
  word(kStack + 0x48, kCode + 0x310);
  EXPECT_EQ(walk(kCode + 8, 0x1234), TEPHRA_WALK_OUTERMOST);
  EXPECT_EQ(addresses_, (std::vector<uint64_t>{kCode + 8, kCode + 0x110, kCode + 0x210, kCode + 0x310}));
}

TEST_F(StackWalkerTest, AFramePointerThatWasLostIsUsedAgainOnceItWasSaved) {
  tephra_frame_rule loses = test_rule_by_sp(8);
  loses.fp = TEPHRA_SAVED_UNKNOWN;
  table_.row(at(kCode), loses);
  tephra_frame_rule pushed = test_rule_by_sp(16);
  pushed.fp = TEPHRA_SAVED_AT_CFA;
  pushed.fp_offset = -16;
  table_.row(at(kCode + 0x100), pushed);
  table_.row(at(kCode + 0x200), test_rule_by_fp());
  table_.row(at(kCode + 0x300), {.cfa = TEPHRA_CFA_OUTERMOST});
  word(kStack, kCode + 0x110);
  word(kStack + 8, kStack + 0x40);
  word(kStack + 16, kCode + 0x210);
  word(kStack + 0x48, kCode + 0x310);
  EXPECT_EQ(walk(kCode + 8, 0x1234), TEPHRA_WALK_OUTERMOST);
  EXPECT_EQ(addresses_.size(), 4u);

  word(kStack, kCode + 0x210);  // straight to code that needs it
  EXPECT_EQ(walk(kCode + 8, kStack + 0x40), TEPHRA_WALK_UNSUPPORTED);
}

// Epilogues go on saying where the frame pointer was saved after it was popped, and the word is below the copy then.
TEST_F(StackWalkerTest, AFramePointerThatWasPoppedIsInTheRegister) {
  tephra_frame_rule popped = test_rule_by_sp(8);
  popped.fp = TEPHRA_SAVED_AT_CFA;
  popped.fp_offset = -16;
  table_.row(at(kCode), popped);
  table_.row(at(kCode + 0x200), test_rule_by_fp());
  table_.row(at(kCode + 0x300), {.cfa = TEPHRA_CFA_OUTERMOST});
  word(kStack, kCode + 0x210);
  word(kStack + 0x48, kCode + 0x310);
  EXPECT_EQ(walk(kCode + 8, kStack + 0x40), TEPHRA_WALK_OUTERMOST);
  EXPECT_EQ(addresses_.size(), 3u);
  // Where it lies beyond the copy, only those who need it end there.
  popped.fp_offset = 0x1000;
  table_.row(at(kCode), popped);
  EXPECT_EQ(walk(kCode + 8, kStack + 0x40), TEPHRA_WALK_UNSUPPORTED);
  word(kStack, kCode + 0x310);
  EXPECT_EQ(walk(kCode + 8, kStack + 0x40), TEPHRA_WALK_OUTERMOST);
}

TEST_F(StackWalkerTest, OtherRegistersCountForTheLeafAlone) {
  // rdx is 3 to perf, 1 to DWARF; r13 is 21 and 13.
  for (const auto& [perf, dwarf] :
       std::map<int, uint8_t>{{0, 0}, {3, 1}, {2, 2}, {1, 3}, {4, 4}, {5, 5}, {16, 8}, {21, 13}}) {
    table_ = {};
    table_.row(at(kCode), {.cfa = TEPHRA_CFA_REGISTER,
                           .ra = TEPHRA_SAVED_AT_CFA,
                           .cfa_register = dwarf,
                           .cfa_offset = 8,
                           .ra_offset = -8});
    table_.row(at(kCode + 0x100), {.cfa = TEPHRA_CFA_OUTERMOST});
    registers_ = {{perf, kStack + 0x20}};
    word(kStack + 0x20, kCode + 0x110);
    EXPECT_EQ(walk(kCode + 8), TEPHRA_WALK_OUTERMOST) << perf;
    word(kStack + 0x20, kCode + 0x10);  // again, as a caller
    EXPECT_EQ(walk(kCode + 8), TEPHRA_WALK_UNSUPPORTED) << perf;
    EXPECT_EQ(addresses_.size(), 2u);
  }
}

TEST_F(StackWalkerTest, WordsInMemoryAndStubsOfTheLinkageTable) {
  table_.row(at(kCode),
             {.cfa = TEPHRA_CFA_AT_SP, .ra = TEPHRA_SAVED_AT_CFA, .cfa_offset = 8, .cfa_offset2 = 16, .ra_offset = -8});
  table_.row(at(kCode + 0x100),
             {.cfa = TEPHRA_CFA_AT_FP, .ra = TEPHRA_SAVED_AT_CFA, .cfa_offset = -8, .ra_offset = -8});
  table_.row(at(kCode + 0x200),
             {.cfa = TEPHRA_CFA_PLT, .ra = TEPHRA_SAVED_AT_CFA, .cfa_offset = 8, .cfa_offset2 = 11, .ra_offset = -8});
  table_.row(at(kCode + 0x300), {.cfa = TEPHRA_CFA_OUTERMOST});
  word(kStack + 8, kStack + 0x20);  // CFA = it + 16
  word(kStack + 0x28, kCode + 0x110);
  word(kStack + 0x38, kStack + 0x60);  // at the frame pointer - 8
  word(kStack + 0x58, kCode + 0x310);
  EXPECT_EQ(walk(kCode + 8, kStack + 0x40), TEPHRA_WALK_OUTERMOST);
  EXPECT_EQ(addresses_.size(), 3u);

  // A stub pushes a word with its second instruction.
  word(kStack, kCode + 0x310);
  EXPECT_EQ(walk(kCode + 0x200), TEPHRA_WALK_OUTERMOST);
  word(kStack, 5);
  word(kStack + 8, kCode + 0x310);
  EXPECT_EQ(walk(kCode + 0x20b), TEPHRA_WALK_OUTERMOST);
  EXPECT_EQ(addresses_, (std::vector<uint64_t>{kCode + 0x20b, kCode + 0x310}));
}

TEST_F(StackWalkerTest, ASignalsFrameHoldsWhatItInterrupted) {
  table_.row(at(kCode), test_rule_by_sp(8));
  table_.row(at(kCode + 0xff), {.cfa = TEPHRA_CFA_SIGNAL});  // from one byte before the code, as in libc
  table_.row(at(kCode + 0x120), test_rule_by_sp(8));         // what was interrupted, at its first instruction
  table_.row(at(kCode + 0x200), {.cfa = TEPHRA_CFA_OUTERMOST});
  const uint64_t context = kStack + 8;
  word(kStack, kCode + 0x100);
  word(context + 40 + 10 * 8, 0x77);
  word(context + 40 + 15 * 8, kStack + 0x200);
  word(context + 40 + 16 * 8, kCode + 0x120);
  word(kStack + 0x200, kCode + 0x210);
  EXPECT_EQ(walk(kCode + 8), TEPHRA_WALK_OUTERMOST);
  EXPECT_EQ(addresses_,
            (std::vector<uint64_t>{kCode + 8, kMarker, kCode + 0x100, kMarker, kCode + 0x120, kCode + 0x210}));
}

TEST_F(StackWalkerTest, FramePointersServeCodeWithoutRules) {
  table_.row(at(kCode), {.cfa = TEPHRA_CFA_OUTERMOST});
  word(kStack + 0x10, kStack + 0x30);
  word(kStack + 0x18, kBare + 0x40);
  word(kStack + 0x30, 0);
  word(kStack + 0x38, kCode + 8);
  EXPECT_EQ(walk(kBare + 8, kStack + 0x10), TEPHRA_WALK_OUTERMOST);
  EXPECT_EQ(addresses_, (std::vector<uint64_t>{kBare + 8, kBare + 0x40, kCode + 8}));
  EXPECT_EQ(walk(kAbsent + 8, kStack + 0x30), (stream::WalkEnd{TEPHRA_WALK_OUTERMOST, true}));
}

// Generated code keeps frame pointers by convention; code of files without rules may not.
TEST_F(StackWalkerTest, ACallerThatAFramePointerTellsInAFileIsAGuess) {
  const stream::WalkEnd guessed{TEPHRA_WALK_OUTERMOST, true};
  table_.row(at(kCode + 0x100), test_rule_by_sp(8));
  table_.row(at(kCode + 0x200), {.cfa = TEPHRA_CFA_OUTERMOST});
  word(kStack, kCode + 8);
  word(kStack + 0x10, kStack + 0x30);
  word(kStack + 0x18, kCode + 0x208);
  // Below the first row nothing is described.
  EXPECT_EQ(walk(kCode + 8, kStack + 0x10), guessed);
  EXPECT_EQ(walk(kCode + 0x108, kStack + 0x10), guessed);
  EXPECT_EQ(addresses_, (std::vector<uint64_t>{kCode + 0x108, kCode + 8, kCode + 0x208}));
  EXPECT_EQ(walk(kBare + 8, kStack + 0x10), TEPHRA_WALK_OUTERMOST);
  word(kStack, kCode + 0x208);
  EXPECT_EQ(walk(kCode + 0x108, kStack + 0x10), TEPHRA_WALK_OUTERMOST);
  // What leads nowhere is not shown, so it is no caller that could be wrong.
  word(kStack + 0x18, 0x10);
  EXPECT_EQ(walk(kCode + 8, kStack + 0x10), TEPHRA_WALK_NO_RULE);
}

// Threads begin with a zero in the register, and code that keeps no frame pointers may have one in it at any time.
TEST_F(StackWalkerTest, AZeroEndsOnlyAChainOfFramePointers) {
  table_.row(at(kCode), test_rule_by_sp(8));
  EXPECT_EQ(walk(kBare + 8, 0), TEPHRA_WALK_NO_RULE);
  EXPECT_EQ(walk(kAbsent + 8, 0), TEPHRA_WALK_NO_FILE);
  // Handed on by code with rules it proves nothing either.
  word(kStack, kBare + 0x40);
  EXPECT_EQ(walk(kCode + 8, 0), TEPHRA_WALK_NO_RULE);
  EXPECT_EQ(addresses_, (std::vector<uint64_t>{kCode + 8, kBare + 0x40}));
  // Nor do zeros where a return address would be.
  word(kStack + 0x10, 0);
  word(kStack + 0x18, 0);
  EXPECT_EQ(walk(kBare + 8, kStack + 0x10), TEPHRA_WALK_NO_RULE);
  EXPECT_EQ(addresses_, std::vector<uint64_t>{kBare + 8});
  // Behind a frame of such a chain they are its end.
  word(kStack + 0x18, kBare + 0x40);
  EXPECT_EQ(walk(kBare + 8, kStack + 0x10), TEPHRA_WALK_OUTERMOST);
  EXPECT_EQ(addresses_, (std::vector<uint64_t>{kBare + 8, kBare + 0x40}));
  word(kStack + 0x10, kStack + 0x20);
  word(kStack + 0x20, 0);
  word(kStack + 0x28, 0);
  EXPECT_EQ(walk(kBare + 8, kStack + 0x10), TEPHRA_WALK_OUTERMOST);
  EXPECT_EQ(addresses_, (std::vector<uint64_t>{kBare + 8, kBare + 0x40}));
}

TEST_F(StackWalkerTest, SaysWhyItCannotGoOn) {
  word(kStack, 0);
  EXPECT_EQ(walk(kBare + 8, 3), TEPHRA_WALK_NO_RULE);
  EXPECT_EQ(walk(kAbsent + 8, 3), TEPHRA_WALK_NO_FILE);
  EXPECT_EQ(walk(0x10), TEPHRA_WALK_NO_MAPPING);
  EXPECT_EQ(addresses_, std::vector<uint64_t>{0x10});
  // A frame pointer that leads to no code was none.
  word(kStack + 0x10, kStack + 0x30);
  word(kStack + 0x18, 0x10);
  EXPECT_EQ(walk(kBare + 8, kStack + 0x10), TEPHRA_WALK_NO_RULE);
  EXPECT_EQ(walk(kAbsent + 8, kStack + 0x10), TEPHRA_WALK_NO_FILE);
  EXPECT_EQ(addresses_, std::vector<uint64_t>{kAbsent + 8});
  word(kStack + 0x18, ~uint64_t{0} - 100);  // would read as a marker
  EXPECT_EQ(walk(kBare + 8, kStack + 0x10), TEPHRA_WALK_NO_RULE);

  table_.row(at(kCode), test_rule_by_sp(8));
  table_.row(at(kCode + 0x100), test_rule_by_sp(0));
  table_.row(at(kCode + 0x200), test_rule_by_sp(0x1000));
  table_.row(at(kCode + 0x300), {.cfa = TEPHRA_CFA_UNSUPPORTED});
  EXPECT_EQ(walk(kCode + 0x108), TEPHRA_WALK_IMPLAUSIBLE);
  EXPECT_EQ(walk(kCode + 0x308), TEPHRA_WALK_UNSUPPORTED);
  EXPECT_EQ(walk(kCode + 0x208), TEPHRA_WALK_UNREADABLE);
  full_ = true;
  EXPECT_EQ(walk(kCode + 0x208), TEPHRA_WALK_COPY_END);
  word(kStack, 0x10);
  EXPECT_EQ(walk(kCode + 8), TEPHRA_WALK_NO_MAPPING);
  EXPECT_EQ(addresses_, (std::vector<uint64_t>{kCode + 8, 0x10}));
  word(kStack, ~uint64_t{0} - 100);
  EXPECT_EQ(walk(kCode + 8), TEPHRA_WALK_NO_MAPPING);
  EXPECT_EQ(addresses_, std::vector<uint64_t>{kCode + 8});
}

TEST_F(StackWalkerTest, DoesNotWalk32BitProgramsOrWithoutRegisters) {
  table_.row(at(kCode), test_rule_by_sp(8));
  word(kStack, kCode + 0x10);
  abi_ = PERF_SAMPLE_REGS_ABI_32;
  EXPECT_EQ(walk(kCode + 8), TEPHRA_WALK_32BIT);
  EXPECT_EQ(addresses_, std::vector<uint64_t>{kCode + 8});
  abi_ = PERF_SAMPLE_REGS_ABI_64;
  mask_ = 1 << 8;
  EXPECT_EQ(walk(kCode + 8), TEPHRA_WALK_UNREADABLE);
  EXPECT_EQ(addresses_, std::vector<uint64_t>{kCode + 8});
  mask_ = 1 << 7;
  EXPECT_EQ(walk(kCode + 8), TEPHRA_WALK_UNREADABLE);
  EXPECT_TRUE(addresses_.empty());
}

TEST_F(StackWalkerTest, EndsAtItsLimit) {
  table_.row(at(kCode), test_rule_by_sp(8));
  for (size_t i = 0; i < StackWalker::kMostFrames + 10; ++i) word(kStack + i * 8, kCode + 0x10);
  EXPECT_EQ(walk(kCode + 8), TEPHRA_WALK_DEPTH);
  EXPECT_EQ(addresses_.size(), StackWalker::kMostFrames);
}

TEST_F(StackWalkerTest, Arm64HasItsReturnAddressInARegisterAndMayUseNoStack) {
  machine_ = Machine::kArm64;
  mask_ = kArmMask;
  table_.row(at(kCode), {.cfa = TEPHRA_CFA_SP});  // leaf: nothing saved
  table_.row(at(kCode + 0x100), {.cfa = TEPHRA_CFA_FP,
                                 .fp = TEPHRA_SAVED_AT_CFA,
                                 .ra = TEPHRA_SAVED_AT_CFA,
                                 .cfa_offset = 32,
                                 .fp_offset = -32,
                                 .ra_offset = -24});
  table_.row(at(kCode + 0x200), {.cfa = TEPHRA_CFA_OUTERMOST});
  registers_[30] = (kCode + 0x110) | uint64_t{0x7b} << 56;  // signed by pointer authentication
  word(kStack + 0x40, 0);
  word(kStack + 0x48, (kCode + 0x210) | uint64_t{0x11} << 48);
  EXPECT_EQ(walk(kCode + 8, kStack + 0x40), TEPHRA_WALK_OUTERMOST);
  EXPECT_EQ(addresses_, (std::vector<uint64_t>{kCode + 8, kCode + 0x110, kCode + 0x210}));
  // A caller's link register was overwritten by its call.
  registers_[30] = kCode + 0x10;
  EXPECT_NE(walk(kCode + 8, kStack + 0x40), TEPHRA_WALK_OUTERMOST);
  EXPECT_EQ(addresses_.size(), 2u);
  // Without the register nothing is known, and nothing ends as if it were whole.
  mask_ &= ~(uint64_t{1} << 30);
  EXPECT_EQ(walk(kCode + 8, kStack + 0x40), TEPHRA_WALK_UNREADABLE);
}

TEST_F(StackWalkerTest, Arm64Signal) {
  machine_ = Machine::kArm64;
  mask_ = kArmMask;
  table_.row(at(kCode), {.cfa = TEPHRA_CFA_SIGNAL});
  table_.row(at(kCode + 0x100), {.cfa = TEPHRA_CFA_SP});
  table_.row(at(kCode + 0x200), {.cfa = TEPHRA_CFA_OUTERMOST});
  const uint64_t registers = kStack + 312;
  word(registers + 30 * 8, kCode + 0x210);
  word(registers + 31 * 8, kStack + 0x400);
  word(registers + 32 * 8, kCode + 0x100);
  EXPECT_EQ(walk(kCode), TEPHRA_WALK_OUTERMOST);
  EXPECT_EQ(addresses_, (std::vector<uint64_t>{kCode, kMarker, kCode + 0x100, kCode + 0x210}));
}

// Whatever rules, registers and stack say: it ends, within its limits. Sanitizers watch the rest.
TEST_F(StackWalkerTest, EndsWhateverItIsGiven) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    table_ = {};
    for (uint32_t i = 0; i < 40; ++i) {
      table_.row(at(kCode + i * 0x20), {.cfa = static_cast<uint8_t>(random() % 11),
                                        .fp = static_cast<uint8_t>(random() % 5),
                                        .ra = static_cast<uint8_t>(random() % 4),
                                        .cfa_register = static_cast<uint8_t>(random()),
                                        .cfa_offset = static_cast<int>(random() % 256) - 64,
                                        .cfa_offset2 = static_cast<int>(random() % 64) - 16,
                                        .fp_offset = static_cast<short>(random()),
                                        .ra_offset = static_cast<short>(-8 * static_cast<int>(random() % 4))});
    }
    stack_.assign(random() % 4096, 0);
    const auto some_word = [&] {
      switch (random() % 4) {
        case 0:
          return kStack + random() % 4096;
        case 1:
          return random();
        default:
          return kCode + random() % 0x500;
      }
    };
    for (size_t i = 0; i + 8 <= stack_.size(); i += 8) word(kStack + i, some_word());
    for (int i = 0; i < 33; ++i) registers_[i] = some_word();
    machine_ = round % 2 == 0 ? Machine::kX86_64 : Machine::kArm64;
    mask_ = round % 2 == 0 ? kX86Mask : kArmMask;
    const auto end = walk(kCode + random() % 0x500, some_word(), random() % 8 == 0 ? some_word() : kStack);
    EXPECT_NE(end, TEPHRA_WALK_NOT_TOLD);
    EXPECT_LE(addresses_.size(), 2 * StackWalker::kMostFrames);
  }
}

// Generated code without frame pointers, in kBare.
class JitWalkTest : public StackWalkerTest {
 protected:
  static constexpr uint64_t kFunction = kBare + 0x100;
  static constexpr uint64_t kFunctionSize = 0x40;

  JitWalkTest() { table_.row(at(kCode), {.cfa = TEPHRA_CFA_OUTERMOST}); }

  // The call-frame information of a function that has the whole of its frame from its 4th byte on.
  std::string frames_of(uint64_t address, int frame) {
    objects::CfiForTests frames(address);
    frames.common({});
    frames.function(kFunction, kFunctionSize,
                    objects::BytesForTests{DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset}.uleb(frame));
    return frames.terminator().bytes();
  }
  // A function, described where it was first, comes to be somewhere at a moment.
  void load(uint32_t function, uint64_t start, uint64_t moment) {
    code_.load(1, stream::JitCode::Source::kJitdump, start, start + kFunctionSize, function, moment, moment);
  }
  uint32_t described(std::string_view name, const std::string& frames, uint64_t address) {
    const uint32_t function = code_.add_function(name, {}, false);
    const auto unwinding = stream::JitUnwinding::of(base::as_bytes(frames), address);
    code_.describe(function, {.unwinding = code_.add_unwinding(unwinding), .address = kFunction});
    return function;
  }
  tephra_walk_end walk_at(uint64_t moment, uint64_t pc) {
    view_ = code_.view(1, moment).value;
    return walk(pc, 0x1234).how;
  }
};

TEST_F(JitWalkTest, FollowsTheRulesOfTheMoment) {
  const uint64_t place = kFunction + kFunctionSize;
  const std::string small = frames_of(place, 24);
  const std::string large = frames_of(place, 56);
  load(described("small", small, place), kFunction, 10);
  load(described("large", large, place), kFunction, 20);
  code_.seal();
  word(kStack, kCode + 0x1);
  word(kStack + 16, kCode + 0x18);
  word(kStack + 48, kCode + 0x38);
  EXPECT_EQ(walk_at(15, kFunction + 8), TEPHRA_WALK_OUTERMOST);
  EXPECT_EQ(addresses_, (std::vector<uint64_t>{kFunction + 8, kCode + 0x18}));
  EXPECT_EQ(walk_at(25, kFunction + 8), TEPHRA_WALK_OUTERMOST);
  EXPECT_EQ(addresses_, (std::vector<uint64_t>{kFunction + 8, kCode + 0x38}));
  EXPECT_EQ(walk_at(25, kFunction + 2), TEPHRA_WALK_OUTERMOST) << "before the frame is made";
  EXPECT_EQ(addresses_, (std::vector<uint64_t>{kFunction + 2, kCode + 0x1}));
  EXPECT_EQ(walk_at(5, kFunction + 8), TEPHRA_WALK_NO_RULE) << "nothing was there yet";
  EXPECT_EQ(walk_at(25, kFunction + kFunctionSize), TEPHRA_WALK_NO_RULE) << "behind the function";
}

TEST_F(JitWalkTest, RulesMoveWithTheFunction) {
  const uint64_t place = kFunction + kFunctionSize;
  const std::string frames = frames_of(place, 24);
  const uint32_t function = described("f", frames, place);
  load(function, kFunction, 10);
  code_.unload(1, stream::JitCode::Source::kJitdump, kFunction, 20);
  load(function, kBare + 0x4000, 20);
  code_.seal();
  word(kStack + 16, kCode + 0x18);
  EXPECT_EQ(walk_at(25, kBare + 0x4008), TEPHRA_WALK_OUTERMOST);
  EXPECT_EQ(addresses_, (std::vector<uint64_t>{kBare + 0x4008, kCode + 0x18}));
  EXPECT_EQ(walk_at(25, kFunction + 8), TEPHRA_WALK_NO_RULE);
}

// Code that is called last is asked about by the instruction before the return address.
TEST_F(JitWalkTest, CallersInGeneratedCodeAreFollowed) {
  const uint64_t place = kFunction + kFunctionSize;
  const std::string frames = frames_of(place, 24);
  load(described("f", frames, place), kFunction, 10);
  code_.seal();
  table_.row(at(kCode + 0x100), test_rule_by_sp(8));
  word(kStack, kFunction + kFunctionSize);
  word(kStack + 8 + 16, kCode + 0x18);
  EXPECT_EQ(walk_at(15, kCode + 0x100), TEPHRA_WALK_OUTERMOST);
  EXPECT_EQ(addresses_, (std::vector<uint64_t>{kCode + 0x100, kFunction + kFunctionSize, kCode + 0x18}));
}

TEST_F(JitWalkTest, WhatIsNoCallFrameInformationChangesNothing) {
  const uint64_t place = kFunction + kFunctionSize;
  std::mt19937 random(7);
  std::string noise(200, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  load(described("f", noise, place), kFunction, 10);
  code_.seal();
  word(kStack + 16, kCode + 0x18);
  EXPECT_EQ(walk_at(15, kFunction + 8), TEPHRA_WALK_NO_RULE);
  EXPECT_EQ(addresses_, std::vector<uint64_t>{kFunction + 8});
}

}  // namespace
}  // namespace tephra::unwind
