#include <gtest/gtest.h>

#include "formats/bcc_stacks.h"
#include "formats/bpftrace.h"
#include "formats/folded.h"

namespace tephra::formats {
namespace {

using model::Reason;

model::Profile read(const Format& format, std::string_view text) {
  EXPECT_EQ(format.refusal(base::as_bytes(text)), "") << text;
  auto profile = format.read(base::as_bytes(text));
  EXPECT_TRUE(profile.ok());
  return std::move(*profile);
}

TEST(Bpftrace, ReadsMapsOfStacks) {
  const auto profile = read(kBpftrace,
                            "Attaching 1 probe...\n\n\n"
                            "@[\n    do_syscall_64+92\n    entry_SYSCALL_64_after_hwframe+110\n, bash]: 5\n"
                            "@[\n    main+12\n    __libc_start_main+0x80\n, my app, 77]: 3\n"
                            "@[\n, kthread]: 2\n"
                            "@: 12\n");
  EXPECT_EQ(write_folded(profile, {}),
            "bash;entry_SYSCALL_64_after_hwframe;do_syscall_64 5\n"
            "kthread 2\n"
            "my_app;__libc_start_main;main 3\n");
  EXPECT_EQ(profile.threads[profile.samples.thread[1]].pid, 77);
  EXPECT_EQ(profile.quality[Reason::malformed_records], 0u);
}

TEST(Bpftrace, KernelCodeIsCalledByUserCode) {
  const std::string_view kernel = "\n    do_it+1\n    entry_SYSCALL_64+2\n";
  const std::string_view user = "\n    read+3\n    main+4\n";
  const auto folded = [&](std::string_view first, std::string_view second) {
    const std::string text = "@s[" + std::string(first) + ", " + std::string(second) + ", app]: 7\n";
    return write_folded(read(kBpftrace, text), {});
  };
  EXPECT_EQ(folded(kernel, user), "app;main;read;entry_SYSCALL_64;do_it 7\n");
  EXPECT_EQ(folded(user, kernel), "app;main;read;entry_SYSCALL_64;do_it 7\n");
}

// What `fold --kernel` marks.
std::string marked(const Format& format, std::string_view text) {
  return write_folded(read(format, text), {.kernel = true});
}

TEST(Bpftrace, KernelStacksAreKernelCode) {
  EXPECT_EQ(
      marked(kBpftrace,
             "@[\n    up_write+12\n    entry_SYSCALL_64_after_hwframe+118\n, \n    write+3\n    main+4\n, app]: 2\n"
             "@[, \n    spin+1\n    main+4\n, app]: 3\n"),
      "app;main;spin 3\n"
      "app;main;write;entry_SYSCALL_64_after_hwframe_[k];up_write_[k] 2\n");
}

TEST(Bpftrace, ReadsFramesOfTheModeCalledPerf) {
  const auto profile = read(kBpftrace,
                            "@[\n\t7a32fc push(int, void (*)(void*))+412 (/usr/lib/gcc/12/cc1plus)\n"
                            "\t5563cf4b4169 0x5563cf4b4169 ([unknown])\n"
                            "\t7f4d391ef803 main+3 (/opt/a b/libx.so (deleted))\n, cc1plus]: 4\n"
                            "@[\n\tffffffff81189249 do_it+5 ([kernel.kallsyms])\n, app]: 1\n");
  EXPECT_EQ(write_folded(profile, {.kernel = true}), "app;do_it_[k] 1\ncc1plus;main;[unknown];push 4\n");
  const model::Stack& leaf = profile.stacks[profile.samples.stack[0]];
  const model::Frame& frame = profile.frames[leaf.frame];
  EXPECT_EQ(frame.address, 0x7a32fcu);
  EXPECT_EQ(frame.symbol_offset, 412u);
  EXPECT_EQ(profile.text(profile.mappings[frame.mapping].path), "/usr/lib/gcc/12/cc1plus");
  EXPECT_EQ(profile.text(profile.functions[frame.function].system_name), "push(int, void (*)(void*))");
  const model::Frame& unknown = profile.frames[profile.stacks[leaf.parent].frame];
  EXPECT_FALSE(profile.functions[unknown.function].named);
  EXPECT_EQ(unknown.address, 0x5563cf4b4169u);
  const model::Frame& gone = profile.frames[profile.stacks[profile.stacks[leaf.parent].parent].frame];
  EXPECT_EQ(profile.text(profile.mappings[gone.mapping].path), "/opt/a b/libx.so (deleted)");
}

TEST(Bpftrace, PerfMapsAreGeneratedCode) {
  const auto profile = read(kBpftrace,
                            "@[\n\t7f01 step+1 (/tmp/perf-7.map)\n\t7f02 0x7f02 (/tmp/perf-7.map)\n"
                            "\t55d0 main+1 (/bin/node)\n, node]: 1\n");
  EXPECT_EQ(write_folded(profile, {.jit = true}), "node;main;[unknown]_[j];step_[j] 1\n");
}

// A walk without frame pointers ends in what is no address.
TEST(Bpftrace, NumbersThatAreNoAddressesAreNotOfTheKernel) {
  EXPECT_EQ(
      marked(kBpftrace, "@[\n\t1b31523 look_up+83 (/x)\n\tf2a4c3e200000005 0xf2a4c3e200000005 ([unknown])\n]: 1\n"),
      "[unknown];look_up 1\n");
}

TEST(Bpftrace, AddressesAreNoNames) {
  const auto profile = read(kBpftrace, "@[\n    0x9c4cc0\n    0x24\n    main+1\n]: 1\n");
  EXPECT_EQ(write_folded(profile, {}), "main;[unknown];[unknown] 1\n");
}

TEST(Bpftrace, ReadsSumsAndCountsWhatItCannotRead) {
  const auto profile = read(kBpftrace,
                            "@ns[app, \n    f+1\n]: count 2, average 3, total 6\n"
                            "@ns[\n    g+1\n, app]: \n[0, 1) 3 |@@@|\n"
                            "@ns[\n    h+1\n");
  ASSERT_EQ(profile.samples.size(), 1u);
  EXPECT_EQ(profile.samples.count[0], 2u);
  EXPECT_EQ(profile.samples.value[0], 6u);
  EXPECT_EQ(profile.text(profile.events[profile.samples.event[0]].name), "ns");
  EXPECT_EQ(profile.quality[Reason::malformed_records], 2u);
}

// Programs print their maps again and again.
TEST(Bpftrace, WhatIsPrintedAgainIsOneRow) {
  const auto profile = read(kBpftrace,
                            "@n[\n    f+1\n, app]: 2\n@n[\n    f+1\n, other]: 5\n@m[\n    f+1\n, app]: 7\n"
                            "@n[\n    f+1\n, app]: count 2, average 3, total 6\n");
  EXPECT_EQ(profile.samples.count, (std::vector<uint64_t>{4, 5, 7}));
  EXPECT_EQ(profile.samples.value, (std::vector<uint64_t>{8, 5, 7}));
}

TEST(Bpftrace, RefusesWhatHoldsNoStacks) {
  for (const std::string_view text : {"@[bash]: 5\n", "a;b 3\n", "@x: 4\n    f\n", ""}) {
    EXPECT_NE(kBpftrace.refusal(base::as_bytes(text)), "") << text;
  }
}

TEST(BccStacks, ReadsWhatProfilePrints) {
  const auto profile = read(kBccStacks,
                            "Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end.\n"
                            "^C\n"
                            "    ffffffff81189249 filemap_map_pages\n"
                            "    ffffffff811bd3f5 handle_mm_fault\n"
                            "    --\n"
                            "    00007f31d76c3251 [unknown]\n"
                            "    -                sign-file (8877)\n"
                            "        1\n"
                            "\n"
                            "    func_ab\n"
                            "    main\n"
                            "    -                two words (13549)\n"
                            "        5\n"
                            "\n"
                            "    cut\n");
  EXPECT_EQ(write_folded(profile, {.pid = true}),
            "sign-file-8877;[unknown];handle_mm_fault;filemap_map_pages 1\n"
            "two_words-13549;main;func_ab 5\n");
  EXPECT_EQ(profile.quality[Reason::malformed_records], 1u);
}

TEST(BccStacks, KernelFramesAreToldByTheTool) {
  const std::string task = "    -                app (7)\n        2\n\n";
  EXPECT_EQ(marked(kBccStacks, "    do_it\n    --\n    main\n" + task), "app;main;do_it_[k] 2\n");
  EXPECT_EQ(marked(kBccStacks, "    do_it_[k]\n    main\n" + task), "app;main;do_it_[k] 2\n");
  EXPECT_EQ(marked(kBccStacks, "    ffffffff81189249 do_it\n    00007f31d76c3251 main\n" + task),
            "app;main;do_it_[k] 2\n");
  EXPECT_EQ(marked(kBccStacks,
                   "Sampling at 49 Hertz of all threads by kernel stack... Hit Ctrl-C to end.\n"
                   "    do_it\n    entry\n" +
                       task),
            "app;entry_[k];do_it_[k] 2\n");
  EXPECT_EQ(marked(kBccStacks, "    do_it\n    main\n" + task), "app;main;do_it 2\n");
}

TEST(BccStacks, MicrosecondsAreNoSamples) {
  const auto profile = read(kBccStacks,
                            "Tracing off-CPU time (us) of all threads by user + kernel stack... Hit Ctrl-C to end.\n"
                            "^C\n"
                            "    schedule\n    main\n    -                app (7)\n        1500\n\n"
                            "    schedule\n    -                app (7)\n        18446744073709551615\n");
  ASSERT_EQ(profile.samples.size(), 2u);
  const model::Event& event = profile.events[profile.samples.event[0]];
  EXPECT_EQ(profile.text(event.name), "off-CPU-time");
  EXPECT_EQ(profile.text(event.unit), "ns");
  EXPECT_TRUE(event.uncounted);
  EXPECT_EQ(profile.samples.count, (std::vector<uint64_t>{1, 1}));
  EXPECT_EQ(profile.samples.value[0], 1'500'000u);
  EXPECT_GT(profile.samples.value[1], uint64_t{1} << 62);
}

TEST(BccStacks, RefusesOtherText) {
  for (const std::string_view text : {"", "    f\n    - x (1)\n", "a;b 3\n", "    f\n    3\n"}) {
    EXPECT_NE(kBccStacks.refusal(base::as_bytes(text)), "") << text;
  }
}

}  // namespace
}  // namespace tephra::formats
