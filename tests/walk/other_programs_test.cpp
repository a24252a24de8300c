#include "kernel/bpf_config.h"

#if TEPHRA_BPF

#include <bpf/bpf.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>

#include "abi/walk_end.h"
#include "bpf/other_programs.skel.h"
#include "kernel/bpf_program.h"
#include "kernel/stack_program.h"
#include "walked_process.h"

namespace tephra::walk {
namespace {

struct Destroy {
  void operator()(other_programs* skeleton) const { other_programs__destroy(skeleton); }
};
using Skeleton = std::unique_ptr<other_programs, Destroy>;

__attribute__((noinline)) void probed(OwnStack& stack) {
  asm volatile("nop");
  stack.notes[0] = stack.notes[0] + 1;
}

// Calls the probed function, and sleeps, from a known place.
__attribute__((noinline, optimize("omit-frame-pointer"))) uint64_t descend(OwnStack& stack, int depth) {
  volatile char room[24];
  room[depth % 24] = 1;
  if (depth > 0) return descend(stack, depth - 1) + static_cast<uint64_t>(room[depth % 24]);
  note_stack(stack);
  stack.ready = 1;
  while (stack.stop == 0) {
    probed(stack);
    ::usleep(1000);
  }
  return 1;
}

class StackWalkElsewhereTest : public testing::Test {
 protected:
  // Nothing, or why not.
  std::string start(pid_t pid) {
    auto loaded = kernel::StackProgram::load({});
    if (!loaded.ok()) return loaded.error().message();
    program_ = std::move(loaded).value();
    const auto told = Teller(*program_).tell(pid);
    if (!told.ok()) return told.error().message();
    skeleton_.reset(other_programs__open());
    if (!skeleton_) return "the programs cannot be opened";
    skeleton_->rodata->watched = static_cast<uint32_t>(pid);
    const auto shared = program_->maps();
    const std::pair<bpf_map*, int> maps[] = {
        {skeleton_->maps.tables, shared.tables},       {skeleton_->maps.table_blocks, shared.table_blocks},
        {skeleton_->maps.rules, shared.rules},         {skeleton_->maps.mappings, shared.mappings},
        {skeleton_->maps.processes, shared.processes}, {skeleton_->maps.answers, shared.answers},
    };
    for (const auto& [map, fd] : maps) {
      if (bpf_map__reuse_fd(map, fd) != 0) return "a map cannot be shared";
    }
    const kernel::BpfLog log;
    if (other_programs__load(skeleton_.get()) != 0) return "refused: " + log.text();
    LIBBPF_OPTS(bpf_test_run_opts, options);
    bpf_prog_test_run_opts(bpf_program__fd(skeleton_->progs.note_namespace), &options);
    auto ring = kernel::BpfRing::open(bpf_map__fd(skeleton_->maps.stacks), [this](base::Bytes record) {
      std::vector<uint64_t> words(record.size() / 8);
      std::memcpy(words.data(), record.data(), words.size() * 8);
      stacks_.push_back(std::move(words));
    });
    if (!ring.ok()) return ring.error().message();
    ring_ = std::move(ring).value();
    return {};
  }

  void wait_for_stacks() {
    for (int i = 0; i < 1000 && stacks_.size() < 50; ++i) {
      ::usleep(10'000);
      ring_->consume();
    }
    ASSERT_GE(stacks_.size(), 50u);
  }

  // Kind, end and tid come first; then `inner` frames stand in the place of the first that was noted.
  void expect_stacks_of(const Child& child, uint64_t kind, size_t inner) {
    const OwnStack& own = child.stack();
    for (const auto& words : stacks_) {
      ASSERT_GT(words.size(), 3u);
      EXPECT_EQ(words[0], kind);
      EXPECT_EQ(words[1], TEPHRA_WALK_OUTERMOST);
      EXPECT_EQ(words[2], static_cast<uint64_t>(child.pid()));
      ASSERT_GE(words.size(), 3 + static_cast<size_t>(own.count));
      // From the outermost.
      for (int i = 1; i < own.count; ++i) {
        EXPECT_EQ(words[words.size() - static_cast<size_t>(i)], reinterpret_cast<uint64_t>(own.frames[own.count - i]));
      }
      if (inner != 0) {
        EXPECT_EQ(words.size(), 3 + static_cast<size_t>(own.count) - 1 + inner);
      }
    }
  }

  std::unique_ptr<kernel::StackProgram> program_;
  Skeleton skeleton_;
  std::unique_ptr<kernel::BpfRing> ring_;
  std::vector<std::vector<uint64_t>> stacks_;
};

TEST_F(StackWalkElsewhereTest, ContextSwitchesAreWalked) {
  const Child child([](OwnStack& stack) { descend(stack, 12); });
  child.wait_until_ready();
  if (const std::string reason = start(child.pid()); !reason.empty()) {
    EXPECT_EQ(std::getenv("TEPHRA_TEST_BPF_LOADS"), nullptr) << "programs must load here: " << reason;
    GTEST_SKIP() << reason;
  }
  const std::unique_ptr<bpf_link, int (*)(bpf_link*)> link(bpf_program__attach(skeleton_->progs.at_switch),
                                                           bpf_link__destroy);
  ASSERT_NE(link, nullptr);
  wait_for_stacks();
  expect_stacks_of(child, 1, 0);
}

TEST_F(StackWalkElsewhereTest, ProbedFunctionsAreWalked) {
  const Child child([](OwnStack& stack) { descend(stack, 12); });
  child.wait_until_ready();
  if (const std::string reason = start(child.pid()); !reason.empty()) {
    EXPECT_EQ(std::getenv("TEPHRA_TEST_BPF_LOADS"), nullptr) << "programs must load here: " << reason;
    GTEST_SKIP() << reason;
  }
  Dl_info info{};
  link_map* map = nullptr;
  ASSERT_NE(::dladdr1(reinterpret_cast<void*>(&probed), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP), 0);
  // Of a position-independent program, whose addresses are file offsets in its first mappings.
  const size_t offset = reinterpret_cast<size_t>(&probed) - map->l_addr;
  const std::unique_ptr<bpf_link, int (*)(bpf_link*)> link(
      bpf_program__attach_uprobe(skeleton_->progs.at_function, false, child.pid(), "/proc/self/exe", offset),
      bpf_link__destroy);
  ASSERT_NE(link, nullptr);
  wait_for_stacks();
  // The function itself, then the place of its call.
  expect_stacks_of(child, 2, 2);
  for (const auto& words : stacks_) EXPECT_EQ(words[3], reinterpret_cast<uint64_t>(&probed));
}

}  // namespace
}  // namespace tephra::walk

#endif
