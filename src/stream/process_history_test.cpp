#include "stream/process_history.h"

#include <gtest/gtest.h>

#include "stream/profile_builder.h"
#include "stream/profile_for_tests.h"
#include "stream/recording_for_tests.h"

namespace tephra::stream {
namespace {

using model::CodeKind;
using model::Reason;
using Rows = std::vector<std::string>;

constexpr uint64_t kKernelStart = 0xffffffff81000000;

// One row a sample, in time order.
model::Profile build(const TestRecording& test) { return build_profile(test.recording(), {.keep_every_sample = true}); }
Rows rows(const TestRecording& test) { return row_texts(build(test)); }

TestSample user_sample(uint64_t time, int32_t pid, uint64_t ip) {
  return {.time = time, .pid = pid, .tid = pid, .ip = ip, .callchain = {kTestUserMarker, ip}};
}

// A sample in the kernel with one user frame.
TestSample kernel_sample(uint64_t time, int32_t pid, uint64_t user_ip) {
  TestSample sample{.time = time, .pid = pid, .tid = pid, .ip = kKernelStart + 1};
  sample.callchain = {kTestKernelMarker, kKernelStart + 1, kTestUserMarker, user_ip};
  sample.misc = PERF_RECORD_MISC_KERNEL;
  return sample;
}

TEST(ProcessHistory, AddressesAreRelativeToTheirFile) {
  TestRecording test;
  test.comm(1, 1, 1, "prog").mmap2({.time = 1, .start = 0x5000, .size = 0x1000, .offset = 0x200, .path = "/bin/prog"});
  test.sample(user_sample(2, 1, 0x5010)).sample(user_sample(3, 1, 0x5fff)).sample(user_sample(4, 1, 0x6000));
  test.sample(user_sample(5, 1, 0x4fff));
  EXPECT_EQ(rows(test), (Rows{"prog /bin/prog+210", "prog /bin/prog+11ff", "prog ?+6000", "prog ?+4fff"}));
}

TEST(ProcessHistory, AForkedProcessHasItsParentsMemoryAndName) {
  TestRecording test;
  test.comm(1, 1, 1, "prog").mmap2({.time = 1, .start = 0x5000, .size = 0x1000, .path = "/bin/prog"});
  test.fork(10, 2, 1, 2, 1);
  // What the parent maps later is its own, and so is what the child maps.
  test.mmap2({.time = 20, .start = 0x8000, .size = 0x1000, .path = "/lib/parent"});
  test.mmap2({.time = 20, .pid = 2, .start = 0x9000, .size = 0x1000, .path = "/lib/child"});
  for (const int32_t pid : {1, 2}) {
    test.sample(user_sample(30, pid, 0x5001)).sample(user_sample(31, pid, 0x8001)).sample(user_sample(32, pid, 0x9001));
  }
  EXPECT_EQ(rows(test), (Rows{"prog /bin/prog+1", "prog /bin/prog+1", "prog /lib/parent+1", "prog ?+8001",
                              "prog ?+9001", "prog /lib/child+1"}));
}

// perf writes FORK records for processes that run already, and marks them: their memory is told by MMAP records alone.
TEST(ProcessHistory, AProcessThatRanAlreadyHasOnlyItsOwnMemory) {
  TestRecording test;
  test.comm(0, 1, 1, "shell").mmap2({.start = 0x5000, .size = 0x1000, .path = "/bin/shell"});
  test.fork(0, 2, 1, 2, 1, PERF_RECORD_MISC_FORK_EXEC).comm(0, 2, 2, "tool");
  test.mmap2({.pid = 2, .start = 0x7000, .size = 0x1000, .path = "/bin/tool"});
  test.sample(user_sample(5, 2, 0x7001)).sample(user_sample(6, 2, 0x5001));
  EXPECT_EQ(rows(test), (Rows{"tool /bin/tool+1", "tool ?+5001"}));
}

TEST(ProcessHistory, AnExecReplacesTheMemory) {
  TestRecording test;
  test.comm(1, 1, 1, "shell").mmap2({.time = 1, .start = 0x5000, .size = 0x1000, .path = "/bin/shell"});
  test.fork(10, 2, 1, 2, 1).comm(20, 2, 2, "tool", true);
  test.mmap2({.time = 22, .pid = 2, .start = 0x7000, .size = 0x1000, .path = "/bin/tool"});
  test.sample(user_sample(15, 2, 0x5001)).sample(user_sample(25, 2, 0x7001)).sample(user_sample(26, 2, 0x5001));
  test.sample(user_sample(27, 1, 0x5001));
  EXPECT_EQ(rows(test), (Rows{"shell /bin/shell+1", "tool /bin/tool+1", "tool ?+5001", "shell /bin/shell+1"}));
}

// While the kernel still is in exec, the user registers are those of the old program.
TEST(ProcessHistory, SamplesOfTheExecItselfAreOfTheOldMemory) {
  TestRecording test;
  test.comm(1, 1, 1, "shell").mmap2({.time = 1, .start = 0x5000, .size = 0x1000, .path = "/bin/shell"});
  test.mmap({.pid = -1,
             .start = kKernelStart,
             .size = 0x1000,
             .path = "[kernel.kallsyms]_text",
             .misc = PERF_RECORD_MISC_KERNEL});
  test.comm(20, 1, 1, "tool", true).sample(kernel_sample(21, 1, 0x5001));
  test.mmap2({.time = 22, .pid = 1, .start = 0x7000, .size = 0x1000, .path = "/bin/tool"});
  test.sample(kernel_sample(23, 1, 0x5001)).sample(kernel_sample(24, 1, 0x7001)).sample(user_sample(25, 1, 0x5001));
  const std::string kernel = ";[kernel.kallsyms]+ffffffff81000001";
  EXPECT_EQ(rows(test), (Rows{"tool /bin/shell+1" + kernel, "tool /bin/shell+1" + kernel, "tool /bin/tool+1" + kernel,
                              "tool ?+5001"}));
}

TEST(ProcessHistory, ALaterMappingHidesAnEarlierOneFromThenOn) {
  TestRecording test;
  test.mmap2({.time = 1, .start = 0x5000, .size = 0x3000, .path = "/lib/old"});
  test.mmap2({.time = 10, .start = 0x6000, .size = 0x1000, .path = "/lib/new"});
  for (const uint64_t time : {5, 15}) {
    test.sample(user_sample(time, 1, 0x5001)).sample(user_sample(time, 1, 0x6001)).sample(user_sample(time, 1, 0x7001));
  }
  EXPECT_EQ(rows(test), (Rows{":1 /lib/old+1", ":1 /lib/old+1001", ":1 /lib/old+2001", ":1 /lib/old+1", ":1 /lib/new+1",
                              ":1 /lib/old+2001"}));
}

TEST(ProcessHistory, AnIdUsedAgainIsAnotherProcess) {
  TestRecording test;
  test.comm(1, 1, 1, "init").mmap2({.time = 1, .start = 0x1000, .size = 0x1000, .path = "/bin/init"});
  test.comm(1, 2, 2, "first").mmap2({.time = 1, .pid = 2, .start = 0x5000, .size = 0x1000, .path = "/bin/first"});
  test.exit(10, 2, 2).fork(20, 2, 1, 2, 1);
  test.sample(user_sample(5, 2, 0x5001)).sample(user_sample(25, 2, 0x5001)).sample(user_sample(26, 2, 0x1001));
  // Also where nothing is known of the parent.
  test.fork(30, 2, 77, 2, 77).sample(user_sample(35, 2, 0x1001));
  EXPECT_EQ(rows(test), (Rows{"first /bin/first+1", "init ?+5001", "init /bin/init+1", ":2 ?+1001"}));
}

TEST(ProcessHistory, ThreadsRenameThemselves) {
  TestRecording test;
  test.comm(1, 1, 1, "main").fork(2, 1, 1, 5, 1);
  const auto thread_sample = [](uint64_t time, int32_t tid) {
    return TestSample{.time = time, .pid = 1, .tid = tid, .ip = 1, .callchain = {kTestUserMarker, 1}};
  };
  test.sample(thread_sample(3, 5)).comm(4, 1, 5, "worker").sample(thread_sample(5, 5)).comm(6, 1, 5, "idle");
  test.sample(thread_sample(7, 5)).sample(thread_sample(8, 1));
  // A thread that was never heard of has the name of its process.
  test.sample(thread_sample(9, 44));
  EXPECT_EQ(rows(test), (Rows{"main ?+1", "worker ?+1", "idle ?+1", "main ?+1", "main ?+1"}));
}

// Each CPU has its own ring, so a file holds one ring after the other.
TEST(ProcessHistory, RecordsAreTakenInTimeOrder) {
  TestRecording test;
  test.sample(user_sample(30, 1, 0x5001)).sample(user_sample(10, 1, 0x5001));
  test.mmap2({.time = 20, .start = 0x5000, .size = 0x1000, .path = "/lib/late"});
  test.mmap2({.time = 5, .start = 0x5000, .size = 0x1000, .path = "/lib/early"});
  test.comm(25, 1, 1, "renamed").comm(1, 1, 1, "original");
  EXPECT_EQ(rows(test), (Rows{"original /lib/early+1", "renamed /lib/late+1"}));
}

TEST(ProcessHistory, WithoutTimesThePlaceInTheFileIsTheOrder) {
  TestRecording test(TestRecording::kUsual & ~PERF_SAMPLE_TIME);
  test.comm(0, 1, 1, "prog").mmap2({.start = 0x5000, .size = 0x1000, .path = "/lib/a"});
  test.sample(user_sample(0, 1, 0x5001));
  test.mmap2({.start = 0x5000, .size = 0x1000, .path = "/lib/b"}).comm(0, 1, 1, "renamed");
  test.sample(user_sample(0, 1, 0x5001));
  EXPECT_EQ(rows(test), (Rows{"prog /lib/a+1", "renamed /lib/b+1"}));
}

TEST(ProcessHistory, RecordsWithoutATimeComeAfterTheSamplesBeforeThem) {
  TestRecording test;
  test.layout().sample_id_all = false;
  test.mmap2({.start = 0x5000, .size = 0x1000, .path = "/lib/a"}).sample(user_sample(10, 1, 0x5001));
  test.mmap2({.start = 0x5000, .size = 0x1000, .path = "/lib/b"}).sample(user_sample(20, 1, 0x5001));
  EXPECT_EQ(rows(test), (Rows{":1 /lib/a+1", ":1 /lib/b+1"}));
}

TEST(ProcessHistory, AProcessThatNeverHadMemoryIsAKernelThread) {
  TestRecording test;
  test.comm(1, 2, 2, "kthreadd").comm(1, 9, 9, "user");
  test.mmap2({.time = 1, .pid = 9, .start = 0x5000, .size = 0x1000, .path = "/bin/user"});
  test.fork(2, 3, 2, 3, 2).fork(2, 10, 9, 10, 9);
  for (const int32_t pid : {2, 3, 9, 10, -1}) {
    TestSample sample{.time = 5, .pid = pid, .tid = pid, .ip = kKernelStart};
    sample.callchain = {kTestKernelMarker, kKernelStart};
    sample.misc = PERF_RECORD_MISC_KERNEL;
    test.sample(sample);
  }
  const auto profile = build(test);
  std::vector<bool> kernel;
  for (const auto thread : profile.samples.thread) kernel.push_back(profile.threads[thread].kernel_thread);
  EXPECT_EQ(kernel, (std::vector<bool>{true, true, false, false, false}));
  EXPECT_EQ(profile.quality[Reason::user_stack_missing], 3u);
}

TEST(ProcessHistory, GeneratedCodeIsOfOneProcess) {
  TestRecording test;
  for (const int32_t pid : {1, 2}) {
    test.mmap2({.time = 1, .pid = pid, .start = 0x5000, .size = 0x1000, .offset = 0x99, .path = "//anon"});
    test.mmap2({.time = 1, .pid = pid, .start = 0x8000, .size = 0x1000, .path = "[vdso]"});
    test.mmap2({.time = 1, .pid = pid, .start = 0xa000, .size = 0x1000, .path = "/bin/prog"});
    for (const uint64_t ip : {0x5001, 0x8001, 0xa001}) test.sample(user_sample(5, pid, ip));
  }
  const auto profile = build(test);
  EXPECT_EQ(row_texts(profile), (Rows{":1 //anon+5001", ":1 [vdso]+1", ":1 /bin/prog+1", ":2 //anon+5001",
                                      ":2 [vdso]+1", ":2 /bin/prog+1"}));
  const auto mapping = [&](size_t row) {
    return profile.frames[profile.stacks[profile.samples.stack[row]].frame].mapping;
  };
  EXPECT_NE(mapping(0), mapping(3));
  EXPECT_EQ(mapping(1), mapping(4));
  EXPECT_EQ(mapping(2), mapping(5));
  EXPECT_EQ(profile.mappings[mapping(0)].kind, CodeKind::kAnonymous);
  EXPECT_EQ(profile.mappings[mapping(3)].pid, 2);
  EXPECT_EQ(profile.mappings[mapping(1)].kind, CodeKind::kVdso);
}

TEST(ProcessHistory, FilesOfOneNameAreToldApart) {
  TestRecording test;
  test.mmap2({.time = 1, .pid = 1, .start = 0x5000, .size = 0x1000, .path = "/bin/a", .inode = 1});
  test.mmap2({.time = 1, .pid = 2, .start = 0x5000, .size = 0x1000, .path = "/bin/a", .inode = 2});
  test.mmap2({.time = 1, .pid = 3, .start = 0x5000, .size = 0x1000, .path = "/bin/b", .build_id = "same"});
  test.mmap2({.time = 1, .pid = 4, .start = 0x5000, .size = 0x1000, .path = "/bin/b", .build_id = "same"});
  for (int32_t pid = 1; pid <= 4; ++pid) test.sample(user_sample(5, pid, 0x5001));
  const auto profile = build(test);
  const auto mapping = [&](size_t row) {
    return profile.frames[profile.stacks[profile.samples.stack[row]].frame].mapping;
  };
  EXPECT_NE(mapping(0), mapping(1));
  EXPECT_EQ(mapping(2), mapping(3));
}

TEST(ProcessHistory, BuildIdsOfTheHeaderGoToMappingsWithoutOne) {
  TestRecording test;
  test.mmap2({.time = 1, .start = 0x5000, .size = 0x1000, .path = "/bin/a"});
  test.sample(user_sample(5, 1, 0x5001)).sample(kernel_sample(6, 1, 0x5001));
  Recording recording = test.recording();
  recording.build_ids.push_back({"/bin/a", model::BuildId(base::as_bytes("of the file")), false});
  recording.build_ids.push_back({"[kernel.kallsyms]", model::BuildId(base::as_bytes("of kernel")), true});
  const auto profile = build_profile(recording, {});
  size_t found = 0;
  for (const model::Mapping& mapping : profile.mappings) {
    const auto id = base::as_text(mapping.build_id.bytes());
    if (mapping.kind == CodeKind::kFile) found += id == "of the file";
    if (mapping.kind == CodeKind::kKernel) found += id == "of kernel";
  }
  EXPECT_EQ(found, 2u);
}

TEST(ProcessHistory, KernelCodeComesAndGoes) {
  constexpr uint64_t kProgram = 0xffffffffc0001000;
  TestRecording test;
  test.mmap({.pid = -1,
             .start = kKernelStart,
             .size = 0x1000,
             .path = "[kernel.kallsyms]_text",
             .misc = PERF_RECORD_MISC_KERNEL});
  test.mmap({.pid = -1,
             .start = kProgram - 0x1000,
             .size = 0x800,
             .path = "/lib/modules/a.ko",
             .misc = PERF_RECORD_MISC_KERNEL});
  test.ksymbol(10, kProgram, 0x100, false, "bpf_prog_a").ksymbol(20, kProgram, 0x100, true, "bpf_prog_a");
  test.ksymbol(30, kProgram, 0x80, false, "bpf_prog_b");
  const auto sample_at = [](uint64_t time, uint64_t ip) {
    TestSample sample{.time = time, .ip = ip, .callchain = {kTestKernelMarker, ip}};
    sample.misc = PERF_RECORD_MISC_KERNEL;
    return sample;
  };
  for (const uint64_t time : {5, 15, 25, 35}) test.sample(sample_at(time, kProgram + 1));
  test.sample(sample_at(40, kProgram - 0xfff)).sample(sample_at(41, kKernelStart + 5));
  const auto profile = build(test);
  EXPECT_EQ(row_texts(profile),
            (Rows{":1 [kernel.kallsyms]+ffffffffc0001001", ":1 bpf_prog_a+ffffffffc0001001",
                  ":1 [kernel.kallsyms]+ffffffffc0001001", ":1 bpf_prog_b+ffffffffc0001001",
                  ":1 /lib/modules/a.ko+ffffffffc0000001", ":1 [kernel.kallsyms]+ffffffff81000005"}));
}

TEST(Stacks, ContextMarkersSayWhereAddressesAre) {
  TestRecording test;
  test.mmap2({.time = 1, .start = 0x5000, .size = 0x1000, .path = "/bin/a"});
  TestSample sample{.time = 5, .ip = kKernelStart};
  sample.misc = PERF_RECORD_MISC_KERNEL;
  sample.callchain = {kTestKernelMarker, kKernelStart, kKernelStart + 8, kTestUserMarker, 0x5001, 0x5008};
  test.sample(sample);
  // Without markers the processor's mode tells.
  test.sample({.time = 6, .ip = 0x5001, .callchain = {0x5001, 0x5008}});
  sample.time = 7;
  sample.callchain = {kKernelStart, kKernelStart + 8};
  test.sample(sample);
  // Addresses of a guest are nobody's here.
  test.sample({.time = 8, .callchain = {static_cast<uint64_t>(PERF_CONTEXT_GUEST_KERNEL), 0x5001}});
  const std::string k = "[kernel.kallsyms]+ffffffff8100000";
  EXPECT_EQ(rows(test), (Rows{":1 /bin/a+8r;/bin/a+1;" + k + "8r;" + k + "0", ":1 /bin/a+8r;/bin/a+1",
                              ":1 " + k + "8r;" + k + "0", ":1 ?+5001"}));
}

TEST(Stacks, AnEmptyChainLeavesThePlaceOfTheSample) {
  TestRecording test;
  test.mmap2({.time = 1, .start = 0x5000, .size = 0x1000, .path = "/bin/a"});
  test.sample({.time = 5, .ip = 0x5001});
  test.sample({.time = 6, .ip = 0x5002, .callchain = {kTestUserMarker}});
  test.sample({.time = 7, .ip = 0x5003, .callchain = {kTestKernelMarker, kTestUserMarker}});
  EXPECT_EQ(rows(test), (Rows{":1 /bin/a+1", ":1 /bin/a+2", ":1 /bin/a+3"}));
  const auto counted = build_profile(test.recording(), {});
  EXPECT_EQ(row_texts(counted), (Rows{":1 /bin/a+1", ":1 /bin/a+2", ":1 /bin/a+3"}));
}

TEST(Stacks, WithoutChainsThePlaceIsTheStack) {
  TestRecording test(TestRecording::kUsual & ~PERF_SAMPLE_CALLCHAIN);
  test.sample({.time = 5, .ip = 0x5001}).sample({.time = 6, .ip = 0x5002});
  const auto profile = build(test);
  EXPECT_EQ(row_texts(profile), (Rows{":1 ?+5001", ":1 ?+5002"}));
  EXPECT_EQ(profile.quality[Reason::stacks_not_recorded], 2u);
  EXPECT_EQ(profile.facts.engine, "none");
}

TEST(Stacks, TheDepthLimitIsNoticed) {
  const auto chain_of = [](size_t addresses) {
    std::vector<uint64_t> chain{kTestUserMarker};
    for (size_t i = 0; i < addresses; ++i) chain.push_back(0x5000 + i);
    return chain;
  };
  TestRecording usual;
  usual.sample({.time = 1, .callchain = chain_of(126)}).sample({.time = 2, .callchain = chain_of(127)});
  EXPECT_EQ(build(usual).quality[Reason::depth_limit], 1u);
  TestRecording asked;
  asked.layout().sample_max_stack = 16;
  asked.sample({.time = 1, .callchain = chain_of(15)}).sample({.time = 2, .callchain = chain_of(16)});
  asked.sample({.time = 3, .callchain = chain_of(16)});
  EXPECT_EQ(build(asked).quality[Reason::depth_limit], 2u);
  EXPECT_EQ(build_profile(asked.recording(), {}).quality[Reason::depth_limit], 2u);
}

// Copies of the user stack are not unwound here; the user's place is all that is shown, and it is counted.
TEST(Stacks, StackCopiesGiveThePlaceInUserSpace) {
  const uint64_t type = TestRecording::kUsual | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  struct Case {
    std::string arch;
    uint64_t mask;
    std::vector<uint64_t> registers;
    std::string expected;
  };
  const std::string kernel = "[kernel.kallsyms]+ffffffff81000000";
  const std::vector<Case> cases{{"x86_64", 0x1c0, {6, 7, 0x5001}, "/bin/a+1;" + kernel},
                                {"aarch64", 0x180000100, {8, 31, 0x5001}, "/bin/a+1;" + kernel},
                                {"s390x", 0x1c0, {6, 7, 0x5001}, kernel}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.arch);
    TestRecording test(type);
    test.layout().sample_regs_user = one.mask;
    test.layout().exclude_callchain_user = true;
    test.mmap2({.time = 1, .start = 0x5000, .size = 0x1000, .path = "/bin/a"});
    TestSample sample{.time = 5, .ip = kKernelStart, .callchain = {kTestKernelMarker, kKernelStart}};
    sample.misc = PERF_RECORD_MISC_KERNEL;
    sample.registers = one.registers;
    sample.stack = std::string(64, 's');
    sample.stack_filled = 64;
    test.sample(sample);
    TestSample in_user{.time = 6, .ip = 0x5002};
    in_user.registers = one.registers;
    test.sample(in_user);
    Recording recording = test.recording();
    recording.facts.arch = one.arch;
    const auto profile = build_profile(recording, {.keep_every_sample = true});
    EXPECT_EQ(row_texts(profile), (Rows{":1 " + one.expected, ":1 /bin/a+2"}));
    EXPECT_EQ(profile.quality[Reason::stack_copy_not_unwound], 2u);
    EXPECT_EQ(profile.facts.engine, "stack copies");
  }
}

}  // namespace
}  // namespace tephra::stream
