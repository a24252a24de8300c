#include "formats/perf_script.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "formats/folded.h"
#include "formats/perf_script_header.h"
#include "formats/script_modules.h"

namespace tephra::formats {
namespace {

using model::CodeKind;
using model::Reason;

model::Profile read(std::string_view text) {
  auto profile = kPerfScript.read(base::as_bytes(text));
  EXPECT_TRUE(profile.ok());
  return std::move(*profile);
}

std::string refusal(std::string_view text) { return kPerfScript.refusal(base::as_bytes(text)); }

// Names from the outermost on.
std::string stack_of(const model::Profile& profile, size_t row) {
  std::string text;
  for (auto at = profile.samples.stack[row]; at; at = profile.stacks[at].parent) {
    text.insert(0, std::string(profile.function_name(profile.stacks[at].frame)) + (text.empty() ? "" : ";"));
  }
  return text;
}

const model::Frame& leaf(const model::Profile& profile, size_t row) {
  return profile.frames[profile.stacks[profile.samples.stack[row]].frame];
}

CodeKind leaf_kind(const model::Profile& profile, size_t row) {
  return profile.mappings[leaf(profile, row).mapping].kind;
}

TEST(PerfScriptHeader, EveryMixOfFields) {
  const auto all = parse_script_header("V8 Worker 10/11 [003] 12.000345: 250 cycles:u: ");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->comm, "V8 Worker");
  EXPECT_EQ(all->pid, 10);
  EXPECT_EQ(all->tid, 11);
  EXPECT_EQ(all->cpu, 3);
  EXPECT_EQ(all->time, 12'000'345'000u);
  EXPECT_EQ(all->period, 250u);
  EXPECT_EQ(all->event, "cycles:u");

  const auto aligned = parse_script_header("         swapper     0/0     [009] 0.5:    1  sched:wakeup: comm=fio");
  ASSERT_TRUE(aligned);
  EXPECT_EQ(aligned->comm, "swapper");
  EXPECT_EQ(aligned->event, "sched:wakeup");
  EXPECT_EQ(aligned->rest, "comm=fio");

  const auto digits = parse_script_header("6\t7/8\t\t[000] 0.25:\t\t\t1 event_name: event_properties");
  ASSERT_TRUE(digits);
  EXPECT_EQ(digits->comm, "6");
  EXPECT_EQ(digits->pid, 7);
  EXPECT_EQ(digits->tid, 8);

  const auto bare = parse_script_header("java  3244 cpu-clock: ");
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->tid, 3244);
  EXPECT_EQ(bare->pid, -1);
  EXPECT_FALSE(bare->time || bare->cpu || bare->period);
  EXPECT_EQ(bare->event, "cpu-clock");

  const auto nameless = parse_script_header("    2/2\t[000] 0.25: e: x");
  ASSERT_TRUE(nameless);
  EXPECT_EQ(nameless->comm, "");

  const auto numbers = parse_script_header("V8 Worker  10/11    250 ");
  ASSERT_TRUE(numbers);
  EXPECT_EQ(numbers->comm, "V8 Worker");
  EXPECT_EQ(numbers->pid, 10);
  EXPECT_EQ(numbers->tid, 11);
  EXPECT_EQ(numbers->period, 250u);
  EXPECT_EQ(numbers->event, "");
  const auto timed = parse_script_header("app 10 1.5:  250 ");
  ASSERT_TRUE(timed);
  EXPECT_EQ(timed->period, 250u);
  EXPECT_EQ(timed->rest, "");

  for (const auto line : {"", "# comm 1 [000] 1.0: e:", "\tffffffff8103ce3b native_safe_halt ([kernel.kallsyms])",
                          "one two three", "7f00-7f01 r-xp 00000000 08:01 12 /lib/x"}) {
    EXPECT_FALSE(parse_script_header(line)) << line;
  }
}

TEST(PerfScriptHeader, LongLinesAreReadOnce) {
  std::string line(1'000'000, ' ');
  for (int i = 0; i < 500'000; ++i) line += "w ";
  EXPECT_FALSE(parse_script_header(line));
  EXPECT_NE(refusal(line), "");
  const auto header = parse_script_header(line + "7 [001] 1.5: e:");
  ASSERT_TRUE(header);
  EXPECT_EQ(header->comm.size(), 999'999u);
  EXPECT_EQ(header->tid, 7);
}

// A line holds as many names as it likes, of a file whose name is as long.
TEST(PerfScript, LongNamesOfFilesAreNotRepeatedWhole) {
  std::string names;
  for (int i = 0; i < 20'000; ++i) names += "[unknown]->";
  const std::string module = "perf-" + std::string(400'000, '0') + "7.map";
  const auto profile =
      read("app 10/11 5.000001: 200 cpu-clock: \n\t99 " + names + "La/c;.put (/tmp/" + module + ")\n\n");
  size_t frames = 0;
  for (auto stack = profile.samples.stack[0]; stack; stack = profile.stacks[stack].parent) ++frames;
  EXPECT_EQ(frames, 20'001u);
  EXPECT_EQ(profile.function_name(profile.stacks[profile.stacks[profile.samples.stack[0]].parent].frame),
            "[unknown] [anon]+0x99");
  size_t text = 0;
  for (uint32_t i = 0; i < profile.strings.size(); ++i) text += profile.strings[model::StringId{i}].size();
  EXPECT_LT(text, 10'000u);
}

TEST(PerfScript, UnknownCodeIsCalledByTheBeginningOfItsFilesName) {
  const std::string module = "lib" + std::string(400'000, 'a') + ".so";
  const auto profile = read("app 10/11 5.000001: 200 cpu-clock: \n\t99 [unknown] (/tmp/" + module + ")\n\n");
  EXPECT_EQ(profile.function_name(profile.stacks[profile.samples.stack[0]].frame),
            "[unknown] " + module.substr(0, 255) + "+0x99");
}

TEST(PerfScript, ReadsWhatTheLinesTell) {
  const auto profile = read(
      "# hostname : box\n# cmdline : /usr/bin/perf record -g\n#\n"
      "app 10/11 [003] 5.000001:     200 cpu-clock: \n"
      "\t    1234 ns::leaf(int)+0x14 (/usr/bin/app)\n"
      "\tffffffff81000000 do_it ([kernel.kallsyms])\n"
      "\t    7f00 [unknown] (/usr/lib/libx.so)\n\n"
      "app 10/12 [001] 5.000002:     300 cpu-clock: \n"
      "\t    99 La/b;.call->La/c;.put (/tmp/perf-10.map)\n"
      "\t    5 inner (inlined)\n"
      "\t    5 outer (/x (deleted))\n\n");
  EXPECT_EQ(profile.facts.host, "box");
  EXPECT_EQ(profile.facts.command_line, "/usr/bin/perf record -g");
  EXPECT_EQ(profile.facts.first_time, 5'000'001'000u);
  ASSERT_EQ(profile.samples.size(), 2u);
  EXPECT_EQ(profile.samples.cpu, (std::vector<int32_t>{3, 1}));
  EXPECT_EQ(profile.samples.value, (std::vector<uint64_t>{200, 300}));
  EXPECT_EQ(profile.text(profile.events[profile.samples.event[0]].unit), "ns");
  EXPECT_EQ(profile.threads[profile.samples.thread[1]].tid, 12);

  EXPECT_EQ(stack_of(profile, 0), "[unknown] libx.so+0x7f00;do_it;ns::leaf");
  EXPECT_EQ(leaf(profile, 0).symbol_offset, 0x14u);
  EXPECT_EQ(leaf(profile, 0).address, 0x1234u);
  EXPECT_EQ(profile.text(profile.functions[leaf(profile, 0).function].system_name), "ns::leaf(int)");
  EXPECT_EQ(leaf_kind(profile, 0), CodeKind::kFile);

  EXPECT_EQ(stack_of(profile, 1), "outer;inner;a/b:.call;a/c:.put");
  EXPECT_TRUE(leaf(profile, 1).inlined);
  EXPECT_EQ(leaf_kind(profile, 1), CodeKind::kJit);
  const auto outer = profile.stacks[profile.stacks[profile.stacks[profile.samples.stack[1]].parent].parent];
  EXPECT_TRUE(profile.frames[outer.frame].inlined);
  EXPECT_EQ(profile.text(profile.mappings[profile.frames[outer.frame].mapping].path), "/x (deleted)");
}

TEST(PerfScript, ReadsSamplesWithoutStacks) {
  const auto profile = read(
      "         swapper     0/0     [009] 0.5:  1  sched:sched_wakeup: comm=fio pid=243615 ffffffff8bad311d "
      "ttwu_do_wakeup ([kernel.kallsyms])\n"
      "             app    7/7     [001] 0.75:  1  cycles:  55d0 main+0x4 (/usr/bin/app)\n");
  ASSERT_EQ(profile.samples.size(), 2u);
  EXPECT_EQ(stack_of(profile, 0), "ttwu_do_wakeup");
  EXPECT_EQ(stack_of(profile, 1), "main");
  EXPECT_EQ(profile.quality[Reason::malformed_records], 0u);
}

TEST(PerfScript, ReadsFramesWithoutModuleAndWithSource) {
  const auto profile = read(
      "app 7 1.5: 1 e:\n\t  55d0 main+0x4\n\t  55d8\n\n"
      "app 7 1.6: 1 e:\n\t  55d0 main+0x4 (/bin/app)\n  app.cpp:12\n\t  1 f (/l.so)\n  l.so[1]\n\n");
  EXPECT_EQ(stack_of(profile, 0), "[unknown] 0x55d8;main");
  EXPECT_EQ(profile.text(leaf(profile, 1).file), "app.cpp");
  EXPECT_EQ(leaf(profile, 1).line, 12u);
  EXPECT_EQ(profile.quality[Reason::malformed_records], 0u);
}

TEST(PerfScript, OperatorsAreOneFunction) {
  const auto profile = read(
      "app 1 1.0: 1 cycles:\n"
      "\t10 std::unique_ptr<T>::operator->() const+0x4 (/x)\n"
      "\t20 (anonymous namespace)::work(int)+0x8 (/x)\n"
      "\t30 a::operator->*(b)+0x8 (/x)\n"
      "\t40 Lcom/a/Outer:::run->Lcom/a/Inner:::step (/tmp/perf-1.map)\n");
  EXPECT_EQ(stack_of(profile, 0),
            "com/a/Outer:::run;com/a/Inner:::step;a::operator->*;(anonymous namespace)::work;"
            "std::unique_ptr<T>::operator->");
}

// Functions are told apart by what the text calls them, brackets and all.
TEST(PerfScript, BracketsAreAPartOfNames) {
  const auto profile = read(
      "app 1 1.0: 1 cycles:\n"
      "\t10 foo(int)::{lambda(int)#1}::operator()(int) const+0x4 (/x)\n"
      "\t20 foo(int)+0x8 (/x)\n"
      "\t30 decltype(auto) f<int>(int)+0x8 (/x)\n"
      "\t40 bool (*g())(int)+0x8 (/x)\n"
      "\t50 (DOM) Document.activeElement (/tmp/perf-1.map)\n"
      "\t60 (garbage collector) ([unknown])\n"
      "\t70 (root) ([unknown])\n");
  EXPECT_EQ(stack_of(profile, 0),
            "(root);(garbage collector);(DOM) Document.activeElement;bool (*g())(int);decltype(auto) f<int>;foo;"
            "foo(int)::{lambda(int)#1}::operator()");
  EXPECT_EQ(profile.text(profile.functions[leaf(profile, 0).function].system_name),
            "foo(int)::{lambda(int)#1}::operator()(int) const");
}

TEST(PerfScript, UnknownFramesAreToldApartByTheirPlaces) {
  const auto profile = read(
      "app 1 1.0: 1 cycles:\n"
      "\tffffffff81000010 [unknown] ([kernel.kallsyms])\n"
      "\tffffffff81000020 [unknown] ([kernel.kallsyms])\n"
      "\t1200 [unknown] (/usr/lib/libx.so)\n"
      "\t7f0000001000 [unknown] (/tmp/perf-1.map)\n"
      "\t55d8 [unknown] ([unknown])\n"
      "\t0 [unknown] ([unknown])\n"
      "\t29c3f0 libGL.so[+29c3f0] (/lib/libGL.so)\n");
  EXPECT_EQ(stack_of(profile, 0),
            "libGL.so[+29c3f0];[unknown];[unknown] 0x55d8;[unknown] [anon]+0x7f0000001000;[unknown] libx.so+0x1200;"
            "[unknown] [kernel.kallsyms]+0xffffffff81000020;[unknown] [kernel.kallsyms]+0xffffffff81000010");
  EXPECT_EQ(std::ranges::count(profile.functions, true, &model::Function::named), 0);
}

// The physical frame below is where the sample was taken, not where a call returns to.
TEST(PerfScript, TheLeafIsAnInstructionBelowWhatWasInlined) {
  const auto profile = read(
      "app 1 1.0: 1 cycles:\n\t10 inner (inlined)\n\t10 middle (inlined)\n\t10 outer (/x)\n"
      "\t20 part (inlined)\n\t20 main (/x)\n");
  std::vector<model::AddressKind> kinds;
  for (auto at = profile.samples.stack[0]; at; at = profile.stacks[at].parent) {
    kinds.push_back(profile.frames[profile.stacks[at].frame].kind);
  }
  using enum model::AddressKind;
  EXPECT_EQ(kinds, (std::vector{kInstruction, kInstruction, kInstruction, kReturn, kReturn}));
}

TEST(PerfScript, ManyEventsAreToldApart) {
  constexpr size_t kEvents = 300'000;
  std::string text;
  for (size_t i = 0; i < kEvents; ++i)
    text += "app 1 1.0: " + std::to_string(i) + " e" + std::to_string(i) + ":\n\t1 f\n\n";
  const auto profile = read(text);
  EXPECT_EQ(profile.events.size(), kEvents);
  for (const size_t row : {size_t{0}, size_t{17}, kEvents - 1}) {
    EXPECT_EQ(profile.text(profile.events[profile.samples.event[row]].name), "e" + std::to_string(row));
    EXPECT_EQ(profile.samples.value[row], row);
  }
}

TEST(PerfScript, CountsLinesThatFitNothing) {
  const auto profile = read("app 7 1.5: 1 e:\n\t1 f (m)\n???\n\n\t2 orphan (m)\n\napp 7 1.6: 1 e:\n\t1 f (m)\n\n");
  EXPECT_EQ(profile.samples.size(), 2u);
  EXPECT_EQ(profile.quality[Reason::malformed_records], 2u);
}

TEST(PerfScript, TimesAndCpusAreKeptWhereAllSamplesHaveThem) {
  const auto profile = read("app 7 [001] 1.5: e:\n\t1 f (m)\n\napp 7 1.6: e:\n\t1 f (m)\n\n");
  EXPECT_EQ(profile.samples.time.size(), 2u);
  EXPECT_TRUE(profile.samples.cpu.empty());
}

TEST(PerfScript, IsRecognisedByItsFirstSample) {
  EXPECT_EQ(refusal("java  3244 cpu-clock: \n\t  7f1e214c24d9 SpinPause (/libjvm.so)\n"), "");
  EXPECT_EQ(refusal("\xef\xbb\xbf# comment\n\napp 7 [001] 1.5: 1 cycles:\n\t1 f (m)\n"), "");
  EXPECT_EQ(refusal("app 7/7 [001] 1.5: 1 sched:x: a=b\n"), "");
  EXPECT_EQ(refusal("g++ 23817 cpu-clock:ppp: \n\t           1469e handle_amd\n\t  0 [unknown]\n\n"), "");
  EXPECT_NE(refusal("java 1 9.5: 10 cpu-clock:\n\n\tffff fput+0xb ([kernel.kallsyms])\n"), "");
  EXPECT_EQ(refusal("w  6717 \n\t            1199 burn_b (/w)\n\n"), "");
  EXPECT_EQ(refusal("w    2004008 \n\t            1199 burn_b\n\n"), "");
  EXPECT_EQ(refusal("w  6717 [001] \n\t            1199 burn_b\n\n"), "");
  EXPECT_NE(refusal("w  6717 \nmain 12\n"), "");
  EXPECT_NE(refusal("app 7 main\n\t1 f (m)\n"), "");
  EXPECT_NE(refusal("app;main 7\n"), "");
  EXPECT_NE(refusal("00400000-00452000 r-xp 00000000 08:02 173521 /usr/bin/x\n"), "");
  EXPECT_NE(refusal(""), "");
}

TEST(PerfScript, WhatIsWrittenIsReadAgain) {
  const std::string_view text =
      "app one    10/11    [003]     5.000001:        200 cpu-clock: \n"
      "\t            1234 leaf+0x14 (/usr/bin/app)\n"
      "\tffffffff81000000 do_it ([kernel.kallsyms])\n"
      "\t            7f00 [unknown] (/usr/lib/libx.so)\n"
      "\t              12 jitted (/tmp/perf-10.map)\n"
      "\n"
      "x     10/12    [001]     5.000002:        300 cpu-clock: \n"
      "\n";
  const auto profile = read(text);
  const auto written = write_perf_script(profile);
  ASSERT_TRUE(written.ok());
  const auto again = read(*written);
  EXPECT_EQ(*write_perf_script(again), *written);
  EXPECT_EQ(again.samples.time, profile.samples.time);
  EXPECT_EQ(again.samples.cpu, profile.samples.cpu);
  EXPECT_EQ(again.samples.value, profile.samples.value);
  EXPECT_EQ(stack_of(again, 0), stack_of(profile, 0));
  EXPECT_EQ(profile.text(profile.threads[profile.samples.thread[0]].comm), "app one");
  EXPECT_NE(written->find("\tffffffff81000000 do_it ([kernel.kallsyms])\n"), std::string::npos);
}

// As `tephra fold` and others weigh that text.
TEST(PerfScript, FoldedStacksOfItAreSumsOfPeriods) {
  const auto folded = [](std::string_view text) { return *kFolded.write(read(text)); };
  EXPECT_EQ(folded("app 1 1.0: 200 cycles:\n\t1 f (m)\n\napp 1 2.0: 300 cycles:\n\t1 f (m)\n\n"), "app;f 500\n");
  EXPECT_EQ(folded("app 1 1.0: cycles:\n\t1 f (m)\n\napp 1 2.0: cycles:\n\t1 f (m)\n\n"), "app;f 2\n");
}

TEST(ScriptModules, KindsByTheirNames) {
  const auto kind = [](std::string_view module, uint64_t address = 1) {
    return parse_script_module(module, address).kind;
  };
  EXPECT_EQ(kind("[kernel.kallsyms]"), CodeKind::kKernel);
  EXPECT_EQ(kind("[guest.kernel.kallsyms]"), CodeKind::kKernel);
  EXPECT_EQ(kind("/usr/lib/debug/boot/vmlinux-5.4.14"), CodeKind::kKernel);
  EXPECT_EQ(kind("[nf_tables]"), CodeKind::kKernelModule);
  EXPECT_EQ(kind("/lib/modules/5.4/kernel/x.ko.xz"), CodeKind::kKernelModule);
  EXPECT_EQ(kind("bpf_prog_2b956549c660136a_uni_l4lb"), CodeKind::kKernelCode);
  EXPECT_EQ(kind("[vdso]"), CodeKind::kVdso);
  EXPECT_EQ(kind("[unknown]"), CodeKind::kNone);
  EXPECT_EQ(kind("[unknown]", UINT64_MAX), CodeKind::kKernelUnmapped);
  EXPECT_EQ(kind("//anon"), CodeKind::kAnonymous);
  EXPECT_EQ(kind("/usr/lib/libc.so.6"), CodeKind::kFile);
  EXPECT_EQ(parse_script_module("/tmp/perf-123.map", 1).pid, 123);
  EXPECT_EQ(parse_script_module("/x/jitted-77-4.so", 1).pid, 77);
  EXPECT_EQ(kind("/tmp/perf-x.map"), CodeKind::kFile);
}

TEST(PerfScript, VerdictsAreReadBack) {
  const std::string text =
      "# hostname : box\n# verdict: fair. 1 samples : all.\nprog 1 1.0: 1 cycles: \n\t 10 f (x)\n\n";
  const auto profile = kPerfScript.read(base::as_bytes(text));
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(profile->facts.host, "box");
  EXPECT_EQ(profile->facts.comments, std::vector<std::string>{"verdict: fair. 1 samples : all."});
}

}  // namespace
}  // namespace tephra::formats
