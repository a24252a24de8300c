#include "collect/copy_watch.h"

#include <gtest/gtest.h>

#include <string>

#include "collect/event_attr.h"
#include "kernel/event_names.h"

namespace tephra::collect {
namespace {

constexpr uint64_t kStackEnd = 0x7ffc00020000;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// An event as recordings with copies have it.
FileEvent copying_event() {
  SampleSettings settings;
  settings.call_graph = CallGraph::kDwarf;
  settings.stack_bytes = 1024;
  return {sampling_attr(kernel::software_event("cpu-clock"), settings, {}), "cpu-clock", {7}};
}

// A sample of it, with some of a kernel's chain before the stack, `needed` bytes below the stack's end.
std::string sample(const FileEvent& event, uint64_t room, uint64_t filled, uint64_t needed, uint64_t id = 7) {
  std::string body;
  put(body, id);
  put(body, uint64_t{0x401000});
  put(body, int32_t{31});
  put(body, int32_t{32});
  put(body, uint64_t{5'000'000'000});
  if (event.attr.sample_type & PERF_SAMPLE_CPU) put(body, uint64_t{0});
  if (event.attr.sample_type & PERF_SAMPLE_PERIOD) put(body, uint64_t{1});
  put(body, uint64_t{2});
  put(body, static_cast<uint64_t>(PERF_CONTEXT_KERNEL));
  put(body, uint64_t{0xffffffff81000000});
  put(body, uint64_t{room == 0 ? PERF_SAMPLE_REGS_ABI_NONE : PERF_SAMPLE_REGS_ABI_64});
  if (room > 0) {
    for (int number = 0; number < 64; ++number) {
      if (event.attr.sample_regs_user >> number & 1) put(body, kStackEnd - needed);
    }
  }
  put(body, room);
  body.append(room, 's');
  if (room > 0) put(body, filled);
  std::string record;
  put(record, perf_event_header{PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, static_cast<uint16_t>(8 + body.size())});
  return record + body;
}

StackEnds one_stack() {
  return StackEnds({[](pid_t pid) {
                      return std::string(pid == 31 ? "7ffc00000000-7ffc00020000 rw-p 00000000 00:00 0 [stack]\n" : "");
                    },
                    [](pid_t) { return std::optional<uint64_t>(); }});
}

TEST(CopyWatch, SeesHowFarStacksGoAtEveryWrap) {
  const FileEvent event = copying_event();
  ASSERT_EQ(event.attr.sample_type & (PERF_SAMPLE_ADDR | PERF_SAMPLE_RAW | PERF_SAMPLE_READ), 0u);
  const std::string bytes = sample(event, 1024, 1024, 5000) + sample(event, 1024, 512, 512) + sample(event, 0, 0, 0) +
                            sample(event, 1024, 1024, 5000, 99);
  for (size_t cut = 0; cut <= bytes.size(); cut += 8) {
    CopyWatch watch(1024, one_stack());
    watch.know({event});
    const auto all = base::as_bytes(bytes);
    watch.heard({{all.first(cut), all.subspan(cut)}, bytes.size()});
    // A recording with one event needs no ids.
    EXPECT_EQ(watch.sizes().used(), (std::vector<model::CopySize>{{1024, 3, 2}})) << cut;
  }
}

TEST(CopyWatch, AStackThatEndsWithTheCopyIsWhole) {
  const FileEvent event = copying_event();
  CopyWatch watch(1024, one_stack());
  watch.know({event});
  const std::string whole = sample(event, 1024, 1024, 1024);
  watch.heard({{base::as_bytes(whole), {}}, whole.size()});
  EXPECT_EQ(watch.sizes().used(), (std::vector<model::CopySize>{{1024, 1, 0}}));
  const std::string deeper = sample(event, 1024, 1024, 1032);
  watch.heard({{base::as_bytes(deeper), {}}, deeper.size()});
  EXPECT_EQ(watch.sizes().used(), (std::vector<model::CopySize>{{1024, 2, 1}}));
}

TEST(CopyWatch, KnowsEventsByTheirIds) {
  FileEvent dummy{dummy_attr(true, {}), "dummy:u", {3}};
  FileEvent event = copying_event();
  CopyWatch watch(1024, one_stack());
  watch.know({dummy, event});
  const std::string later = sample(event, 1024, 1024, 5000, 8);
  watch.heard({{base::as_bytes(later), {}}, later.size()});
  EXPECT_EQ(watch.sizes().used()[0].samples, 0u) << "of an event that nobody told of";
  event.ids.push_back(8);
  watch.know({dummy, event});
  watch.heard({{base::as_bytes(later), {}}, later.size()});
  EXPECT_EQ(watch.sizes().used()[0].samples, 1u);
}

}  // namespace
}  // namespace tephra::collect
