#include "kernel/stack_program.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>

#include "abi/stack_walk.h"
#include "abi/walk_end.h"
#include "kernel/bpf_config.h"
#include "kernel/perf_event.h"
#include "kernel/rights_for_tests.h"
#include "walked_process.h"

namespace tephra::walk {
namespace {

using kernel::StackProgram;

#define WITHOUT_FRAME_POINTER __attribute__((noinline, optimize("omit-frame-pointer")))

void stay(OwnStack& stack) {
  stack.ready = 1;
  while (stack.stop == 0) asm volatile("");
}

// Recursion in code without frame pointers. `at_the_end` is called by the innermost frame.
WITHOUT_FRAME_POINTER uint64_t descend(OwnStack& stack, int depth, void (*at_the_end)(OwnStack&)) {
  volatile char room[24];
  room[depth % 24] = static_cast<char>(depth);
  if (depth == 0) {
    at_the_end(stack);
    return 1;
  }
  return descend(stack, depth - 1, at_the_end) + static_cast<uint64_t>(room[depth % 24]);
}

WITHOUT_FRAME_POINTER void note_and_stay(OwnStack& stack) {
  note_stack(stack);
  stay(stack);
}

// The walked callers must be those that libgcc's unwinder saw. `inner`: how many walked frames stand in the place of
// the first one noted, which is that of the code that goes on.
testing::AssertionResult is_own_stack(const Sample& sample, const OwnStack& stack, size_t inner = 1) {
  const auto count = static_cast<size_t>(stack.count);
  if (sample.user.size() != count - 1 + inner) {
    return testing::AssertionFailure() << sample.user.size() << " frames, " << count << " noted, end " << sample.end();
  }
  for (size_t i = 1; i < count; ++i) {
    if (sample.user[i - 1 + inner] != reinterpret_cast<uint64_t>(stack.frames[i])) {
      return testing::AssertionFailure() << "frame " << i << " of " << count;
    }
  }
  return testing::AssertionSuccess();
}

// The same for samples that are at times in a function that the noted code calls, or in functions of that.
bool ends_like(const Sample& sample, const OwnStack& stack) {
  const auto count = static_cast<size_t>(stack.count);
  for (size_t inner = 1; inner <= 8; ++inner) {
    if (sample.user.size() == count - 1 + inner) return static_cast<bool>(is_own_stack(sample, stack, inner));
  }
  return false;
}

class StackProgramTest : public testing::Test {
 protected:
  bool load(StackProgram::Settings settings = {}) {
    auto loaded = StackProgram::load(settings);
    if (!loaded.ok()) {
      reason_ = loaded.error().message();
      if (std::getenv("TEPHRA_TEST_BPF_LOADS") != nullptr) ADD_FAILURE() << "programs must load here: " << reason_;
      return false;
    }
    program_ = std::move(loaded).value();
    teller_ = std::make_unique<Teller>(*program_);
    return true;
  }

  // Samples a child of which the mappings are known.
  std::unique_ptr<Sampler> sample(const Child& child, const Sampler::Options& options = {}) {
    child.wait_until_ready();
    auto sampler = std::make_unique<Sampler>(child.pid(), options);
    EXPECT_TRUE(sampler->open());
    const auto attached = program_->attach(sampler->fd(), 77, options.address);
    EXPECT_TRUE(attached.ok()) << attached.error().message();
    const auto told = teller_->tell(child.pid());
    EXPECT_TRUE(told.ok()) << told.error().message();
    sampler->enable();
    return sampler;
  }

  std::string reason_;
  std::unique_ptr<StackProgram> program_;
  std::unique_ptr<Teller> teller_;
};

TEST_F(StackProgramTest, WalksRecursionWithoutFramePointers) {
  if (!load()) GTEST_SKIP() << reason_;
  const Child child([](OwnStack& stack) { descend(stack, 40, note_and_stay); });
  const auto sampler = sample(child);
  const Taken taken = take_until(*program_, 200);
  ASSERT_GE(taken.samples.size(), 200u);
  EXPECT_TRUE(taken.wanted.empty());
  uint64_t before = 0;
  for (const Sample& sample : taken.samples) {
    EXPECT_EQ(sample.end(), TEPHRA_WALK_OUTERMOST);
    EXPECT_FALSE(sample.caller_guessed());
    EXPECT_EQ(sample.identifier, 77u);
    EXPECT_EQ(sample.pid, child.pid());
    EXPECT_EQ(sample.tid, child.pid());
    EXPECT_GT(sample.time, before);
    EXPECT_GT(sample.period, 0u);
    EXPECT_EQ(sample.register_abi, 0u);
    EXPECT_TRUE(ends_like(sample, child.stack())) << sample.user.size();
    if (!sample.has_kernel_mark) {
      EXPECT_EQ(sample.misc & PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_USER);
      EXPECT_EQ(sample.user.front(), sample.ip);
    }
    before = sample.time;
  }
  const auto totals = program_->totals();
  EXPECT_EQ(totals.lost, 0u);
  EXPECT_EQ(totals.left_to_perf, 0u);
  EXPECT_TRUE(sampler->raw().empty());
  // It was 13,000 of the million that a kernel looks at; one that needs far more is near the limit.
  EXPECT_LT(totals.verified_instructions, 200'000u);
  RecordProperty("verified_instructions", std::to_string(totals.verified_instructions));
}

TEST_F(StackProgramTest, DeepStacksAreCutAtTheLimitAndSaySo) {
  const Child child([](OwnStack& stack) { descend(stack, 700, note_and_stay); });
  for (const uint32_t limit : {512u, 1000u}) {
    if (!load({.max_frames = limit})) GTEST_SKIP() << reason_;
    const auto sampler = sample(child);
    const Taken taken = take_until(*program_, 20);
    ASSERT_GE(taken.samples.size(), 20u);
    for (const Sample& sample : taken.samples) {
      if (limit == 512) {
        EXPECT_EQ(sample.user.size(), 512u);
        EXPECT_EQ(sample.end(), TEPHRA_WALK_DEPTH);
      } else {
        EXPECT_TRUE(ends_like(sample, child.stack())) << sample.user.size();
        EXPECT_EQ(sample.end(), TEPHRA_WALK_OUTERMOST);
      }
    }
  }
}

OwnStack* signal_stack = nullptr;
void on_signal(int) {
  note_stack(*signal_stack);
  stay(*signal_stack);
}
WITHOUT_FRAME_POINTER void raise_by_fault(OwnStack& stack) {
  signal_stack = &stack;
  ::signal(SIGILL, on_signal);
#if defined(__aarch64__)
  asm volatile("udf #0");
#else
  asm volatile("ud2");
#endif
}

TEST_F(StackProgramTest, WalksThroughASignalHandler) {
  if (!load()) GTEST_SKIP() << reason_;
  const Child child([](OwnStack& stack) { descend(stack, 10, raise_by_fault); });
  const auto sampler = sample(child);
  const Taken taken = take_until(*program_, 50);
  ASSERT_GE(taken.samples.size(), 50u);
  for (const Sample& sample : taken.samples) {
    EXPECT_EQ(sample.end(), TEPHRA_WALK_OUTERMOST);
    EXPECT_TRUE(ends_like(sample, child.stack())) << sample.user.size();
  }
}

constexpr int kNestedSignals = 700;
int signals_left = 0;
void fault_again(int) {
  if (--signals_left == 0) stay(*signal_stack);
#if defined(__aarch64__)
  asm volatile("udf #0");
#else
  asm volatile("ud2");
#endif
}
void nest_signals(OwnStack& stack) {
  signal_stack = &stack;
  signals_left = kNestedSignals;
  struct sigaction action {};
  action.sa_handler = fault_again;
  action.sa_flags = SA_NODEFER;
  ::sigaction(SIGILL, &action, nullptr);
  fault_again(SIGILL);
}

// Each frame around a signal takes two words of a record, so fewer fit than may be asked for.
TEST_F(StackProgramTest, ARecordFullOfSignalFramesIsWhole) {
  if (!load({.max_frames = TEPHRA_WALK_MAX_FRAMES})) GTEST_SKIP() << reason_;
  const Child child(nest_signals);
  const auto sampler = sample(child);
  const Taken taken = take_until(*program_, 20);  // which reads every field of each
  ASSERT_GE(taken.samples.size(), 20u);
  for (const Sample& sample : taken.samples) {
    EXPECT_EQ(sample.end(), TEPHRA_WALK_DEPTH);
    EXPECT_GE(sample.user.size(), (TEPHRA_WALK_WORDS - 300) / 2);
    EXPECT_LT(sample.user.size(), TEPHRA_WALK_WORDS / 2);
    EXPECT_EQ(sample.register_abi, 0u);
  }
}

#if defined(__x86_64__)
// Code without call-frame information that has whatever it is given in the frame pointer.
extern "C" void tephra_test_bare_code(const std::atomic<int>* stop, const void* frame_pointer);
asm(R"(
.pushsection .text
.balign 64
.skip 64, 0x90
.type tephra_test_bare_code, @function
tephra_test_bare_code:
  push %rbp
  mov %rsi, %rbp
1:
  cmpl $0, (%rdi)
  je 1b
  pop %rbp
  ret
.size tephra_test_bare_code, . - tephra_test_bare_code
.skip 64, 0x90
.popsection
)");

void stay_with_zero(OwnStack& stack) {
  stack.ready = 1;
  tephra_test_bare_code(&stack.stop, nullptr);
}
void stay_with_data(OwnStack& stack) {
  const volatile uint64_t data[4] = {0x1111, 0xdeadbeef00, 1, 2};
  stack.ready = 1;
  tephra_test_bare_code(&stack.stop, const_cast<const uint64_t*>(data));
}
void stay_with_marker(OwnStack& stack) {
  const volatile uint64_t data[4] = {0x1111, static_cast<uint64_t>(PERF_CONTEXT_GUEST), 1, 2};
  stack.ready = 1;
  tephra_test_bare_code(&stack.stop, const_cast<const uint64_t*>(data));
}

// Whatever the register holds by chance is neither a caller nor the end of the stack.
TEST_F(StackProgramTest, AStackThatEndsInCodeWithoutRulesIsNotCalledWhole) {
  for (auto* const work : {stay_with_zero, stay_with_data, stay_with_marker}) {
    if (!load()) GTEST_SKIP() << reason_;
    const Child child([work](OwnStack& stack) { descend(stack, 5, work); });
    const auto sampler = sample(child);
    const Taken taken = take_until(*program_, 50);
    ASSERT_GE(taken.samples.size(), 50u);
    for (const Sample& sample : taken.samples) {
      EXPECT_EQ(sample.end(), TEPHRA_WALK_NO_RULE);
      EXPECT_EQ(sample.user.size(), 1u);
      EXPECT_FALSE(sample.caller_guessed());
    }
  }
}

// Keeps a frame, so that whoever has its frame pointer sees its caller, and misses itself.
__attribute__((noinline, optimize("no-omit-frame-pointer"))) void stay_with_own(OwnStack& stack) {
  stack.ready = 1;
  tephra_test_bare_code(&stack.stop, __builtin_frame_address(0));
  asm volatile("" ::: "memory");
}

TEST_F(StackProgramTest, ACallerThatAFramePointerTellsInAFileIsAGuess) {
  if (!load()) GTEST_SKIP() << reason_;
  const Child child([](OwnStack& stack) { descend(stack, 5, stay_with_own); });
  const auto sampler = sample(child);
  const Taken taken = take_until(*program_, 50);
  ASSERT_GE(taken.samples.size(), 50u);
  for (const Sample& sample : taken.samples) {
    EXPECT_EQ(sample.end(), TEPHRA_WALK_OUTERMOST);
    EXPECT_TRUE(sample.caller_guessed());
  }
}

// The same code in memory without a file.
void stay_in_a_copy(OwnStack& stack) {
  constexpr size_t kBytes = 64;
  void* code = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(code, reinterpret_cast<const void*>(tephra_test_bare_code), kBytes);
  stack.ready = 1;
  reinterpret_cast<decltype(&tephra_test_bare_code)>(code)(&stack.stop, __builtin_frame_address(0));
  asm volatile("" ::: "memory");
}

TEST_F(StackProgramTest, GeneratedCodeKeepsFramePointersByConvention) {
  if (!load()) GTEST_SKIP() << reason_;
  const Child child([](OwnStack& stack) { descend(stack, 5, stay_in_a_copy); });
  const auto sampler = sample(child);
  const Taken taken = take_until(*program_, 50);
  ASSERT_GE(taken.samples.size(), 50u);
  for (const Sample& sample : taken.samples) {
    EXPECT_EQ(sample.end(), TEPHRA_WALK_OUTERMOST);
    EXPECT_FALSE(sample.caller_guessed());
  }
}
#endif

void ask_the_time(OwnStack& stack) {
  note_stack(stack);
  stack.ready = 1;
  timespec now;
  while (stack.stop == 0) ::clock_gettime(CLOCK_MONOTONIC, &now);
}

TEST_F(StackProgramTest, WalksOutOfTheVdsoAndLibc) {
  if (!load()) GTEST_SKIP() << reason_;
  const Child child([](OwnStack& stack) { descend(stack, 5, ask_the_time); });
  const auto sampler = sample(child);
  const Taken taken = take_until(*program_, 200);
  ASSERT_GE(taken.samples.size(), 200u);
  size_t in_callee = 0;
  for (const Sample& sample : taken.samples) {
    EXPECT_EQ(sample.end(), TEPHRA_WALK_OUTERMOST);
    EXPECT_TRUE(ends_like(sample, child.stack())) << sample.user.size();
    if (sample.user.size() > static_cast<size_t>(child.stack().count)) ++in_callee;
  }
  EXPECT_GT(in_callee, 0u);
}

void call_a_library(OwnStack& stack) {
  note_stack(stack);
  stack.ready = 1;
  while (stack.stop == 0) stack.notes[0] += static_cast<uint64_t>(::getpagesize());
}

TEST_F(StackProgramTest, WalksOutOfStubsThatCallLibraries) {
  if (!load()) GTEST_SKIP() << reason_;
  const Child child([](OwnStack& stack) { descend(stack, 5, call_a_library); });
  const auto sampler = sample(child, {.frequency = 4000});
  const Taken taken = take_until(*program_, 1000);
  ASSERT_GE(taken.samples.size(), 1000u);
  for (const Sample& sample : taken.samples) {
    EXPECT_EQ(sample.end(), TEPHRA_WALK_OUTERMOST);
    EXPECT_TRUE(ends_like(sample, child.stack())) << sample.user.size();
  }
}

void read_zeros(OwnStack& stack) {
  static char buffer[1 << 20];
  FILE* zeros = std::fopen("/dev/zero", "re");
  const int fd = ::fileno(zeros);
  note_stack(stack);
  stack.ready = 1;
  while (stack.stop == 0) {
    if (::read(fd, buffer, sizeof buffer) < 0) return;
  }
}

// A page fault every few hundred nanoseconds.
void read_zeros_by_page(OwnStack& stack) {
  constexpr size_t kBytes = 16 << 20;
  auto* memory =
      static_cast<volatile char*>(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ::madvise(const_cast<char*>(memory), kBytes, MADV_NOHUGEPAGE);
  stack.ready = 1;
  while (stack.stop == 0) {
    for (size_t at = 0; at < kBytes; at += 4096) memory[at] = 1;
    ::madvise(const_cast<char*>(memory), kBytes, MADV_DONTNEED);
  }
}

TEST_F(StackProgramTest, InTheKernelBothStacksAreThereAsPerfWritesThem) {
  if (!load({.also_raw = true})) GTEST_SKIP() << reason_;
  const Child child([](OwnStack& stack) { descend(stack, 5, read_zeros); });
  const auto sampler = sample(child);
  const Taken taken = take_until(*program_, 200);
  sampler->disable();
  Taken rest = take(*program_);
  std::vector<Sample> walked = taken.samples;
  walked.insert(walked.end(), rest.samples.begin(), rest.samples.end());
  const std::vector<Sample> raw = sampler->raw();
  ASSERT_GE(walked.size(), 200u);
  ASSERT_EQ(raw.size(), walked.size());
  size_t in_kernel = 0;
  size_t deepest = 0;
  for (size_t i = 0; i < walked.size(); ++i) {
    EXPECT_EQ(walked[i].ip, raw[i].ip);
    EXPECT_EQ(walked[i].tid, raw[i].tid);
    EXPECT_EQ(walked[i].cpu, raw[i].cpu);
    EXPECT_EQ(walked[i].period, raw[i].period);
    EXPECT_EQ(walked[i].misc & PERF_RECORD_MISC_CPUMODE_MASK, raw[i].misc & PERF_RECORD_MISC_CPUMODE_MASK);
    EXPECT_EQ(walked[i].has_kernel_mark, raw[i].has_kernel_mark);
    EXPECT_EQ(walked[i].kernel, raw[i].kernel);
    EXPECT_GT(raw[i].stack_bytes, 0u);
    EXPECT_TRUE(ends_like(walked[i], child.stack())) << walked[i].user.size();
    EXPECT_EQ(walked[i].end(), TEPHRA_WALK_OUTERMOST);
    if (!walked[i].has_kernel_mark) continue;
    ++in_kernel;
    EXPECT_EQ(walked[i].kernel.front(), walked[i].ip);
    deepest = std::max(deepest, walked[i].kernel.size());
  }
  EXPECT_GT(in_kernel, walked.size() / 2);
  EXPECT_GT(deepest, 4u);
}

TEST_F(StackProgramTest, PartsThatAreNotWantedAreLeftOut) {
  const Child child([](OwnStack& stack) { descend(stack, 5, read_zeros); });
  if (!load({.kernel_stacks = false})) GTEST_SKIP() << reason_;
  auto sampler = sample(child);
  for (const Sample& sample : take_until(*program_, 30).samples) {
    EXPECT_FALSE(sample.has_kernel_mark);
    EXPECT_TRUE(ends_like(sample, child.stack()));
  }
  ASSERT_TRUE(load({.user_stacks = false}));
  sampler = sample(child);
  for (const Sample& sample : take_until(*program_, 30).samples) EXPECT_FALSE(sample.has_user_mark);
}

TEST_F(StackProgramTest, InheritedEventsOfNewThreadsAreWalked) {
  if (!load()) GTEST_SKIP() << reason_;
  // One CPU, because an inherited event can only be mapped where it is of one.
  const Child child([](OwnStack& stack) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    stack.ready = 1;
    while (stack.notes[0] == 0) ::usleep(1000);
    const auto work = [&stack] { descend(stack, 20, stay); };
    std::thread first(work);
    std::thread second(work);
    first.join();
    second.join();
  });
  const auto sampler = sample(child, {.inherit = true});
  const_cast<volatile uint64_t&>(child.stack().notes[0]) = 1;
  std::set<pid_t> tids;
  size_t complete = 0;
  for (int i = 0; i < 200 && (tids.size() < 2 || complete < 50); ++i) {
    for (const Sample& sample : take_until(*program_, 10).samples) {
      EXPECT_EQ(sample.pid, child.pid());
      if (sample.user.size() < 20) continue;
      EXPECT_EQ(sample.end(), TEPHRA_WALK_OUTERMOST);
      if (sample.tid != child.pid()) tids.insert(sample.tid);
      ++complete;
    }
  }
  EXPECT_EQ(tids.size(), 2u);
  EXPECT_GE(complete, 50u);
}

TEST_F(StackProgramTest, UnknownProcessesAreLeftToPerfAndAskedFor) {
  if (!load()) GTEST_SKIP() << reason_;
  const Child child([](OwnStack& stack) { descend(stack, 5, note_and_stay); });
  child.wait_until_ready();
  Sampler sampler(child.pid(), {});
  ASSERT_TRUE(program_->attach(sampler.fd(), 5, false).ok());
  sampler.enable();
  pollfd wait{program_->fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&wait, 1, 20'000), 1);
  ::usleep(200'000);
  const Taken asked = take(*program_);
  EXPECT_TRUE(asked.samples.empty());
  ASSERT_GE(asked.wanted.size(), 1u);
  EXPECT_EQ(asked.wanted[0].pid, child.pid());
  EXPECT_EQ(asked.wanted[0].address, 0u);
  const auto raw = sampler.raw();
  EXPECT_GT(raw.size(), asked.wanted.size() * 2);  // not with each of them
  for (const Sample& sample : raw) EXPECT_GT(sample.stack_bytes, 0u);
  ASSERT_TRUE(teller_->tell(child.pid()).ok());
  EXPECT_GE(take_until(*program_, 20).samples.size(), 20u);
  program_->forget_process(child.pid());
  take(*program_);
  sampler.raw();
  const uint64_t walked = program_->totals().walked;
  ::usleep(300'000);
  EXPECT_EQ(program_->totals().walked, walked);
  EXPECT_FALSE(sampler.raw().empty());
}

TEST_F(StackProgramTest, AfterAnExecTheOldMappingsAreNotUsed) {
  if (!load()) GTEST_SKIP() << reason_;
  const Child child([](OwnStack& stack) {
    stack.ready = 1;
    while (const_cast<volatile uint64_t&>(stack.notes[0]) == 0) asm volatile("");
    ::execl("/bin/sh", "sh", "-c", "while :; do :; done", nullptr);
  });
  const auto sampler = sample(child);
  EXPECT_GE(take_until(*program_, 20).samples.size(), 20u);
  EXPECT_TRUE(sampler->raw().empty());
  const_cast<volatile uint64_t&>(child.stack().notes[0]) = 1;
  std::vector<Sample> raw;
  for (int i = 0; i < 1000 && raw.size() < 20; ++i) {
    ::usleep(10'000);
    for (auto& sample : sampler->raw()) raw.push_back(std::move(sample));
  }
  ASSERT_GE(raw.size(), 20u);
  const Taken before = take(*program_);
  ASSERT_GE(before.wanted.size(), 1u);
  EXPECT_EQ(before.wanted[0].pid, child.pid());
  EXPECT_EQ(before.wanted[0].address, 0u);
  // It may still be loading its libraries, and is then asked for again.
  ASSERT_TRUE(teller_->tell(child.pid()).ok());
  size_t complete = 0;
  for (int i = 0; i < 2000 && complete < 20; ++i) {
    ::usleep(10'000);
    const Taken taken = take(*program_);
    for (const Sample& sample : taken.samples) complete += sample.end() == TEPHRA_WALK_OUTERMOST;
    if (!taken.wanted.empty()) {
      ASSERT_TRUE(teller_->tell(child.pid()).ok());
    }
  }
  EXPECT_GE(complete, 20u);
}

TEST_F(StackProgramTest, AnAddressInNoMappingIsAskedForAndThenAccepted) {
  if (!load()) GTEST_SKIP() << reason_;
  const Child child([](OwnStack& stack) { descend(stack, 5, note_and_stay); });
  const auto sampler = sample(child);
  EXPECT_GE(take_until(*program_, 5).samples.size(), 5u);
  // Only the program itself: its first caller is in libc.
  ASSERT_TRUE(teller_->tell_first_mapping(child.pid()).ok());
  take(*program_);
  std::vector<tephra_walk_wanted> wanted;
  for (int i = 0; i < 1000 && wanted.empty(); ++i) {
    ::usleep(10'000);
    wanted = take(*program_).wanted;
  }
  ASSERT_FALSE(wanted.empty());
  EXPECT_EQ(wanted[0].pid, child.pid());
  EXPECT_NE(wanted[0].address, 0u);
  // Until there is an answer, perf copies the stacks.
  const uint64_t walked = program_->totals().walked;
  sampler->raw();
  ::usleep(200'000);
  EXPECT_EQ(program_->totals().walked, walked);
  EXPECT_FALSE(sampler->raw().empty());
  // The answer knows no more, so samples are no longer held back.
  program_->answered(child.pid());
  take(*program_);
  const Taken taken = take_until(*program_, 5);
  ASSERT_GE(taken.samples.size(), 5u);
  size_t unmapped = 0;
  for (const Sample& sample : taken.samples) unmapped += sample.end() == TEPHRA_WALK_NO_MAPPING;
  EXPECT_GT(unmapped, 0u);
}

TEST_F(StackProgramTest, StacksThroughCodeWhoseRowsFoundNoRoomAreCopied) {
  if (!load()) GTEST_SKIP() << reason_;
  const Child child([](OwnStack& stack) { descend(stack, 5, note_and_stay); });
  const auto sampler = sample(child);
  EXPECT_GE(take_until(*program_, 5).samples.size(), 5u);
  // All but the program itself, which is the innermost.
  ASSERT_TRUE(teller_->tell_without_room(child.pid()).ok());
  take(*program_);
  sampler->raw();
  const uint64_t walked = program_->totals().walked;
  std::vector<Sample> copied;
  for (int i = 0; i < 1000 && copied.size() < 20; ++i) {
    ::usleep(10'000);
    for (auto& sample : sampler->raw()) copied.push_back(std::move(sample));
  }
  ASSERT_GE(copied.size(), 20u);
  for (const Sample& sample : copied) EXPECT_GT(sample.stack_bytes, 0u);
  EXPECT_EQ(program_->totals().walked, walked);
  EXPECT_FALSE(take(*program_).wanted.empty()) << "there may be room by now";
}

TEST_F(StackProgramTest, WhereTooManyWouldBeCopiedTheSampleSaysSo) {
  if (!load()) GTEST_SKIP() << reason_;
  const Child child([](OwnStack& stack) { descend(stack, 5, read_zeros_by_page); });
  child.wait_until_ready();
  // Every fault, of which there are more in ten milliseconds than stacks may be copied.
  Sampler sampler(child.pid(), {.config = PERF_COUNT_SW_PAGE_FAULTS, .period = 1});
  ASSERT_TRUE(program_->attach(sampler.fd(), 5, false).ok());
  sampler.enable();
  const Taken taken = take_until(*program_, 100);
  ASSERT_GE(taken.samples.size(), 100u);
  for (const Sample& sample : taken.samples) {
    EXPECT_EQ(sample.end(), TEPHRA_WALK_NOT_COPIED);
    EXPECT_EQ(sample.user.size(), 1u);
  }
}

TEST_F(StackProgramTest, AFullRingLosesSamplesAndCountsThem) {
  if (!load({.ring_bytes = 4096})) GTEST_SKIP() << reason_;
  const Child child([](OwnStack& stack) { descend(stack, 20, note_and_stay); });
  const auto sampler = sample(child);
  for (int i = 0; i < 500 && program_->totals().lost < 50; ++i) ::usleep(10'000);
  const auto totals = program_->totals();
  EXPECT_GE(totals.lost, 50u);
  EXPECT_GT(totals.walked, 0u);
  EXPECT_LT(totals.walked, 20u);
  sampler->disable();
  EXPECT_EQ(take(*program_).samples.size(), program_->totals().walked);
}

TEST_F(StackProgramTest, TheReaderIsWokenWhenAQuarterIsFull) {
  if (!load({.ring_bytes = 1 << 16})) GTEST_SKIP() << reason_;
  const Child child([](OwnStack& stack) { descend(stack, 20, note_and_stay); });
  const auto sampler = sample(child);
  for (int round = 0; round < 3; ++round) {
    pollfd wait{program_->fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&wait, 1, 20'000), 1);
    const Taken taken = take(*program_);
    size_t words = 0;
    for (const Sample& sample : taken.samples) words += 12 + sample.kernel.size() + sample.user.size();
    EXPECT_GE(words * 8, (size_t{1} << 14) * 3 / 4);
  }
  EXPECT_EQ(program_->totals().lost, 0u);
}

TEST_F(StackProgramTest, TablesHaveALimitAndCanBeRemoved) {
  if (!load({.max_tables = 2, .max_table_bytes = 3 * 4096})) GTEST_SKIP() << reason_;
  const std::vector<tephra_frame_block> small(1);
  const std::vector<tephra_frame_block> large(20);
  const std::vector<tephra_frame_rule> rules(1);
  const auto first = program_->add_table(small, rules);
  ASSERT_TRUE(first.ok()) << first.error().message();
  EXPECT_GT(*first, 0u);
  EXPECT_EQ(program_->totals().table_bytes, 4096u);
  EXPECT_TRUE(program_->add_table(large, rules).ok());
  EXPECT_EQ(program_->totals().tables, 2u);
  EXPECT_FALSE(program_->add_table(small, rules).ok());
  program_->remove_table(*first);
  program_->remove_table(*first);
  program_->remove_table(12345);
  EXPECT_EQ(program_->totals().tables, 1u);
  EXPECT_FALSE(program_->add_table(large, rules).ok()) << "more bytes than there may be";
  EXPECT_TRUE(program_->add_table(small, rules).ok());
  EXPECT_FALSE(program_->add_table({}, rules).ok());
  EXPECT_FALSE(program_->add_table(small, {}).ok()) << "rows without their rules";
}

TEST_F(StackProgramTest, AnotherTableWithTheNumberOfARemovedOneIsUsedAtOnce) {
  if (!load()) GTEST_SKIP() << reason_;
  const Child child([](OwnStack& stack) { descend(stack, 20, note_and_stay); });
  child.wait_until_ready();
  ASSERT_TRUE(teller_->tell(child.pid()).ok());
  const auto tables = teller_->tables().size();
  // Again, with no table to spare.
  if (!load({.max_tables = static_cast<uint32_t>(tables)})) GTEST_SKIP() << reason_;
  const auto sampler = sample(child);
  EXPECT_GE(take_until(*program_, 20).samples.size(), 20u);
  const uint32_t own = teller_->last_mappings().front().table;
  std::vector<tephra_frame_block> blocks(1);
  const std::vector<tephra_frame_rule> rules{{.cfa = TEPHRA_CFA_UNSUPPORTED}};
  program_->forget_process(child.pid());
  program_->remove_table(own);
  const auto added = program_->add_table(blocks, rules);
  ASSERT_TRUE(added.ok()) << added.error().message();
  ASSERT_EQ(*added, own);
  ASSERT_TRUE(teller_->tell(child.pid()).ok());
  take(*program_);
  const Taken taken = take_until(*program_, 20);
  ASSERT_GE(taken.samples.size(), 20u);
  for (const Sample& sample : taken.samples) EXPECT_EQ(sample.end(), TEPHRA_WALK_UNSUPPORTED);
}

TEST_F(StackProgramTest, MappingsAndProcessesHaveALimit) {
  if (!load({.max_mappings = 10, .max_processes = 2})) GTEST_SKIP() << reason_;
  std::vector<tephra_walk_mapping> six;
  for (uint64_t i = 1; i <= 6; ++i) six.push_back({.start = i << 20, .end = (i << 20) + 4096});
  EXPECT_TRUE(program_->set_process(1000001, 1, 1, six).ok());
  EXPECT_FALSE(program_->set_process(1000002, 1, 1, six).ok());
  EXPECT_TRUE(program_->set_process(1000002, 1, 1, {}).ok());
  EXPECT_FALSE(program_->set_process(1000003, 1, 1, {}).ok());
  std::swap(six[0], six[1]);
  EXPECT_FALSE(program_->set_process(1000002, 1, 1, six).ok()) << "not sorted";
  program_->forget_process(1000001);
  program_->forget_process(1000001);
  EXPECT_TRUE(program_->set_process(1000003, 1, 1, {}).ok());
}

TEST_F(StackProgramTest, AddressesAreInTheRecordsOfEventsThatHaveThem) {
  if (!load()) GTEST_SKIP() << reason_;
  const Child child([](OwnStack& stack) {
    constexpr size_t kBytes = 64 << 20;
    auto* memory =
        static_cast<char*>(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    stack.notes[1] = reinterpret_cast<uint64_t>(memory);
    stack.notes[2] = stack.notes[1] + kBytes;
    stack.ready = 1;
    while (stack.stop == 0) {
      for (size_t at = 0; at < kBytes; at += 4096) memory[at] = 1;
      ::madvise(memory, kBytes, MADV_DONTNEED);
    }
  });
  const auto sampler = sample(child, {.config = PERF_COUNT_SW_PAGE_FAULTS, .period = 100, .address = true});
  // Elsewhere there are faults of the linker, and of what sanitizers keep about memory.
  int inside = 0;
  for (int i = 0; i < 1000 && inside < 20; ++i) {
    ::usleep(10'000);
    for (const Sample& sample : take(*program_, true).samples) {
      if (sample.address < child.stack().notes[1] || sample.address >= child.stack().notes[2]) continue;
      ++inside;
      EXPECT_EQ(sample.end(), TEPHRA_WALK_OUTERMOST);
    }
  }
  EXPECT_GE(inside, 20);
}

TEST_F(StackProgramTest, EveryEventHasItsIdentifier) {
  if (!load()) GTEST_SKIP() << reason_;
  const Child child([](OwnStack& stack) { descend(stack, 5, note_and_stay); });
  const auto first = sample(child);
  Sampler second(child.pid(), {.config = PERF_COUNT_SW_TASK_CLOCK});
  ASSERT_TRUE(program_->attach(second.fd(), 1'000'000'000'007, false).ok());
  second.enable();
  std::set<uint64_t> seen;
  for (int i = 0; i < 20 && seen.size() < 2; ++i) {
    for (const Sample& sample : take_until(*program_, 50).samples) seen.insert(sample.identifier);
  }
  EXPECT_EQ(seen, (std::set<uint64_t>{77, 1'000'000'000'007}));
}

TEST_F(StackProgramTest, TracepointsAreRefused) {
  if (!load()) GTEST_SKIP() << reason_;
  const auto number = base::read_small_file("/sys/kernel/tracing/events/sched/sched_switch/id");
  if (!number.ok()) GTEST_SKIP() << number.error().message();
  perf_event_attr attr = kernel::empty_attr();
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = std::stoull(*number);
  attr.sample_period = 1;
  attr.disabled = 1;
  const auto event = kernel::open_event(attr, kernel::EventScope::task(0, -1));
  ASSERT_TRUE(event);
  EXPECT_FALSE(program_->attach(event.get(), 1, false).ok());
  EXPECT_FALSE(program_->attach(-1, 1, false).ok());
}

// In a pid namespace of its own, as tephra in a container: ids are those of the namespace.
int sample_in_namespace() {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 10;
  if (::mount("proc", "/proc", "proc", 0, nullptr) != 0) return 10;
  auto program = StackProgram::load({});
  if (!program.ok()) return 11;
  const Child child([](OwnStack& stack) { descend(stack, 5, note_and_stay); });
  child.wait_until_ready();
  Sampler sampler(child.pid(), {});
  if (!sampler.open() || !(*program)->attach(sampler.fd(), 1, false).ok()) return 12;
  sampler.enable();
  ::usleep(100'000);
  const Taken asked = take(**program);
  if (asked.wanted.empty() || asked.wanted[0].pid != child.pid()) return 13;
  Teller teller(**program);
  if (!teller.tell(child.pid()).ok()) return 14;
  const Taken taken = take_until(**program, 10);
  if (taken.samples.size() < 10) return 15;
  for (const Sample& sample : taken.samples) {
    if (sample.pid != child.pid() || sample.tid != child.pid() || child.pid() > 10) return 16;
  }
  return 0;
}

TEST_F(StackProgramTest, ProcessIdsAreThoseOfTheRecordersNamespace) {
  if (!load()) GTEST_SKIP() << reason_;
  std::fflush(nullptr);
  const pid_t outer = ::fork();
  if (outer == 0) {
    if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) ::_exit(10);
    const pid_t inner = ::fork();
    if (inner == 0) ::_exit(sample_in_namespace());
    int status = 0;
    ::waitpid(inner, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 20);
  }
  int status = 0;
  ::waitpid(outer, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 10) GTEST_SKIP() << "no namespaces here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(StackProgram, WithoutRightsSaysWhatIsMissing) {
  EXPECT_EQ(kernel::status_without_rights([] { return StackProgram::load({}); }), 0);
}

}  // namespace
}  // namespace tephra::walk
