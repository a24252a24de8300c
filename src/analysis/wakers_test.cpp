#include "analysis/wakers.h"

#include <gtest/gtest.h>

#include "analysis/folded_for_tests.h"
#include "analysis/wait_kind.h"
#include "model/profile_assembler.h"

namespace tephra::analysis {
namespace {

using model::ProfileAssembler;

// A profile of waits and of who ended them.
class WaitsAndWakers {
 public:
  WaitsAndWakers()
      : waits_(assembler_.event({assembler_.string("offcpu-time"), assembler_.string("ns")})),
        wakers_(assembler_.event({assembler_.string("wakers"), assembler_.string("count")})) {}

  WaitsAndWakers& wait(std::string_view comm, const std::vector<std::string_view>& stack, uint64_t ns, int64_t waker) {
    return add(waits_, comm, stack, ns, waker, 0);
  }
  WaitsAndWakers& waker(std::string_view comm, const std::vector<std::string_view>& stack, int64_t number,
                        int64_t woken_by = 0) {
    return add(wakers_, comm, stack, 1, number, woken_by);
  }
  model::Profile finish() { return std::move(assembler_).finish(); }

 private:
  // Names of functions that wait, or write to pipes, are those of the kernel.
  WaitsAndWakers& add(model::EventId event, std::string_view comm, const std::vector<std::string_view>& stack,
                      uint64_t value, int64_t waker, int64_t woken_by) {
    model::StackId id;
    for (const std::string_view name : stack) {
      const auto text = assembler_.string(name);
      const bool kernel = name.starts_with("futex") || name.starts_with("pipe") || name.starts_with("asm_") ||
                          name.starts_with("bpf_") || name.starts_with("wake_");
      const auto kind = kernel ? model::CodeKind::kKernel : model::CodeKind::kFile;
      const auto mapping = assembler_.mapping({.path = assembler_.string("/bin/x"), .kind = kind});
      id = assembler_.stack(
          id, assembler_.frame({.mapping = mapping, .function = assembler_.function({text, text, true})}));
    }
    std::vector<model::Label> labels;
    if (waker != 0) labels.push_back({assembler_.string("waker"), {}, waker, {}});
    if (woken_by != 0) labels.push_back({assembler_.string("woken by"), {}, woken_by, {}});
    assembler_.sample({.stack = id,
                       .event = event,
                       .thread = assembler_.thread({1, 1, assembler_.string(comm)}),
                       .value = value,
                       .labels = assembler_.labels(labels)});
    return *this;
  }

  ProfileAssembler assembler_;
  model::EventId waits_;
  model::EventId wakers_;
};

using Folded = std::map<std::string, uint64_t>;

TEST(WakersTest, StandAboveWhatTheyWoke) {
  auto profile = join_wakers(WaitsAndWakers()
                                 .wait("waiter", {"main", "lock", "futex_wait"}, 70, 5)
                                 .wait("waiter", {"main", "lock", "futex_wait"}, 30, 6)
                                 .wait("waiter", {"main", "alone"}, 9, 0)
                                 .wait("waiter", {"main", "gone"}, 8, 77)
                                 .waker("holder", {"run", "unlock"}, 5)
                                 .waker("holder", {"run", "unlock"}, 6)
                                 .finish());
  EXPECT_EQ(folded_values(profile), (Folded{{"waiter;main;alone", 9},
                                            {"waiter;main;gone", 8},
                                            {"waiter;main;lock;futex_wait;[woken by holder];unlock;run", 100}}));
}

TEST(WakersTest, TwoLevels) {
  auto profile = join_wakers(WaitsAndWakers()
                                 .wait("a", {"main"}, 1, 1)
                                 .waker("b", {"b_root", "b_leaf"}, 1, 2)
                                 .waker("c", {"c_root"}, 2, 3)
                                 .waker("d", {"d_root"}, 3, 1)
                                 .finish());
  EXPECT_EQ(folded_values(profile), (Folded{{"a;main;[woken by b];b_leaf;b_root;[woken by c];c_root", 1}}));
}

TEST(WakersTest, WhoWakesItselfEndsAtTwoLevels) {
  auto profile = join_wakers(WaitsAndWakers().wait("a", {"main"}, 1, 1).waker("b", {"f"}, 1, 1).finish());
  EXPECT_EQ(folded_values(profile), (Folded{{"a;main;[woken by b];f;[woken by b];f", 1}}));
}

TEST(WakersTest, TheRecorderIsNoWaker) {
  auto profile = join_wakers(WaitsAndWakers()
                                 .wait("a", {"main"}, 1, 1)
                                 .waker("b", {"run", "bpf_prog_user", "wake_up", "bpf_trace_run1", "bpf_prog_12"}, 1)
                                 .finish());
  EXPECT_EQ(folded_values(profile), (Folded{{"a;main;[woken by b];wake_up;bpf_prog_user;run", 1}}));
}

TEST(WakersTest, OfInterruptsWhatTheyStoppedIsNotShown) {
  auto profile = join_wakers(WaitsAndWakers()
                                 .wait("a", {"main"}, 1, 1)
                                 .waker("b", {"run", "asm_sysvec_apic_timer_interrupt", "wake_up"}, 1, 2)
                                 .waker("c", {"never"}, 2)
                                 .finish());
  EXPECT_EQ(folded_values(profile),
            (Folded{{"a;main;[woken by an interrupt];wake_up;asm_sysvec_apic_timer_interrupt", 1}}));
}

TEST(WakersTest, WithoutWaitsTheyStay) {
  const auto profile = join_wakers(WaitsAndWakers().waker("b", {"f"}, 1).finish());
  EXPECT_EQ(folded_values(profile), (Folded{{"b;f", 1}}));
}

TEST(WakersTest, TheKindIsThatOfTheWait) {
  const auto profile = join_wakers(
      WaitsAndWakers().wait("a", {"main", "futex_wait"}, 1, 1).waker("b", {"main", "pipe_write"}, 1).finish());
  EXPECT_EQ(wait_kinds(profile), (std::vector{WaitKind::kLock}));
  const auto tree = call_tree(profile, {.keep_leaves = true});
  const auto nodes = kinds_of_nodes(tree, profile, wait_kinds(profile), Weight::kValue);
  // all, a, main and futex_wait; then [woken by b], pipe_write and its main.
  EXPECT_EQ(std::vector(nodes.begin(), nodes.begin() + 4), std::vector(4, std::optional(WaitKind::kLock)));
  EXPECT_EQ(std::vector(nodes.begin() + 4, nodes.end()), std::vector(3, std::optional(WaitKind::kWaker)));
}

}  // namespace
}  // namespace tephra::analysis
