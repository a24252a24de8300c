#include "formats/perf_data_writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <map>

#include "formats/folded.h"
#include "formats/perf_data.h"
#include "model/profile_assembler.h"
#include "stream/profile_builder.h"
#include "stream/random_recording_for_tests.h"
#include "symbols/symbolize.h"

namespace tephra::formats {
namespace {

using model::CodeKind;
using model::Profile;
using model::Reason;

// Reads what was written as any command does, so that it has its names.
Profile read_back(const std::string& file, bool every = true) {
  const auto recording = kPerfData.open(base::as_bytes(file));
  EXPECT_TRUE(recording.ok()) << recording.error().message();
  if (!recording.ok()) return {};
  return symbols::symbolize(stream::build_profile(*recording, {.keep_every_sample = every}), {});
}

Profile converted(const Profile& profile) {
  const auto file = write_perf_data(profile);
  EXPECT_TRUE(file.ok());
  return read_back(file.ok() ? *file : "");
}

std::string frame_text(const Profile& profile, model::FrameId id) {
  const model::Frame& frame = profile.frames[id];
  const model::Function& function = profile.functions[frame.function];
  return fmt::format("{}{}|{}|{}:{}|{}|{}{}", profile.text(function.name), function.named ? "" : "?",
                     profile.text(function.system_name), profile.text(frame.file), frame.line,
                     profile.text(profile.mappings[frame.mapping].path),
                     model::is_kernel(profile.code_kind(id)) ? "k" : "u", frame.inlined ? "i" : "");
}

// All that a sample is, but for addresses, which files of names only do not have.
std::string row_text(const Profile& profile, size_t row) {
  const model::Samples& samples = profile.samples;
  const model::Thread& thread = profile.threads[samples.thread[row]];
  const model::Event& event = profile.events[samples.event[row]];
  std::string text =
      fmt::format("{} {} {}/{} {} {} x{}", profile.text(event.name), profile.text(event.unit), thread.pid, thread.tid,
                  profile.text(thread.comm), samples.value[row], samples.count[row]);
  if (!samples.time.empty()) text += fmt::format(" at {}", samples.time[row]);
  if (!samples.cpu.empty()) text += fmt::format(" cpu {}", samples.cpu[row]);
  for (model::StackId stack = samples.stack[row]; stack; stack = profile.stacks[stack].parent) {
    text += "\n  " + frame_text(profile, profile.stacks[stack].frame);
  }
  return text;
}

std::vector<std::string> rows(const Profile& profile) {
  std::vector<std::string> rows;
  for (size_t i = 0; i < profile.samples.size(); ++i) rows.push_back(row_text(profile, i));
  return rows;
}

TEST(PerfDataWriter, FoldedStacksKeepNamesAndCounts) {
  const std::string text = "main;work;inner 30\nmain;work 12\nmain;wait 5\nother;[unknown];inner 7\n";
  const auto profile = kFolded.read(base::as_bytes(text));
  ASSERT_TRUE(profile.ok());
  const Profile again = converted(*profile);
  EXPECT_EQ(rows(again), rows(*profile));
  EXPECT_EQ(*kFolded.write(again), *kFolded.write(*profile));
  EXPECT_EQ(again.quality, profile->quality);
  EXPECT_EQ(again.facts.engine, "imported");
}

// A profile of everything at once.
class Everything : public testing::Test {
 protected:
  model::FunctionId function(std::string_view name, std::string_view symbol = "", bool named = true) {
    return assembler.function({assembler.string(name), assembler.string(symbol), named, 0});
  }
  model::MappingId mapping(CodeKind kind, std::string_view path, uint64_t base = 0, int32_t pid = 0) {
    return assembler.mapping({.path = assembler.string(path), .kind = kind, .base = base, .pid = pid});
  }
  model::StackId push(model::StackId stack, const model::Frame& frame) {
    return assembler.stack(stack, assembler.frame(frame));
  }
  static constexpr auto kReturn = model::AddressKind::kReturn;

  model::ProfileAssembler assembler;
};

TEST_F(Everything, RowsThatStandForNothingAreNoSamples) {
  const auto names = mapping(CodeKind::kImported, "");
  const auto event = assembler.event({assembler.string("inuse_space"), assembler.string("bytes")});
  const auto thread = assembler.thread({10, 10, assembler.string("prog"), false});
  const auto freed = assembler.thread({11, 11, assembler.string("freed"), false});
  const auto stack = push({}, {.mapping = names, .function = function("main")});
  assembler.sample({.stack = stack, .event = event, .thread = freed, .count = 0, .value = 0});
  assembler.sample({.stack = stack, .event = event, .thread = thread, .count = 0, .value = 40});
  assembler.sample({.stack = stack, .event = event, .thread = thread, .count = 2, .value = 0});
  const Profile again = converted(std::move(assembler).finish());
  EXPECT_EQ(again.samples.count, (std::vector<uint64_t>{0, 2}));
  EXPECT_EQ(again.samples.value, (std::vector<uint64_t>{40, 0}));
}

TEST_F(Everything, CpusThatAreAllUnknownAreNotWritten) {
  const auto event = assembler.event({assembler.string("cycles"), assembler.string("events")});
  const auto thread = assembler.thread({10, 10, assembler.string("prog"), false});
  const auto stack = push({}, {.mapping = mapping(CodeKind::kImported, ""), .function = function("main")});
  assembler.sample({.stack = stack, .event = event, .thread = thread, .cpu = -1});
  const Profile profile = std::move(assembler).finish();
  ASSERT_EQ(profile.samples.cpu.size(), 1u);
  const auto file = write_perf_data(profile);
  ASSERT_TRUE(file.ok());
  const auto recording = kPerfData.open(base::as_bytes(*file));
  ASSERT_TRUE(recording.ok());
  EXPECT_FALSE(recording->events[0].layout.sample_type & PERF_SAMPLE_CPU);
}

TEST_F(Everything, IsReadBack) {
  const std::string id(20, '\x7f');
  const auto file = assembler.mapping({.path = assembler.string("/usr/bin/prog"),
                                       .build_id = model::BuildId(base::as_bytes(id)),
                                       .kind = CodeKind::kFile});
  const auto library = assembler.mapping(
      {.path = assembler.string("/lib/lib.so"), .file = {(uint64_t{8} << 32) | 1, 77, 3}, .kind = CodeKind::kFile});
  const auto jit = mapping(CodeKind::kJit, "LFoo;::bar", 0x7f0000001000, 10);
  const auto anonymous = mapping(CodeKind::kAnonymous, "//anon", 0x7f0000100000, 10);
  const auto vdso = mapping(CodeKind::kVdso, "[vdso]");
  const auto kernel = mapping(CodeKind::kKernel, "[kernel.kallsyms]", 0xffffffff81000000);
  const auto module = mapping(CodeKind::kKernelModule, "[ext4]", 0xffffffffc0100000);
  const auto bpf = mapping(CodeKind::kKernelCode, "bpf_prog_1", 0xffffffffc0000100);
  const auto cycles = assembler.event({assembler.string("cycles"), assembler.string("events")});
  const auto bytes = assembler.event(
      {assembler.string("alloc_space"), assembler.string("bytes"), assembler.string("alloc_objects"), false});
  const auto main_thread = assembler.thread({10, 10, assembler.string("prog"), false});
  const auto renamed = assembler.thread({10, 10, assembler.string("prog2"), false});
  const auto worker = assembler.thread({10, 11, assembler.string("worker"), false});
  const auto kworker = assembler.thread({20, 20, assembler.string("kworker/0"), true});
  const auto nobody = assembler.thread({-1, -1, assembler.string(""), false});

  const auto source = assembler.string("/src/prog.c");
  model::StackId user = push({}, {.mapping = file,
                                  .kind = kReturn,
                                  .facts = model::kOutermost,
                                  .address = 0x1010,
                                  .function = function("main", "main"),
                                  .file = source,
                                  .line = 5});
  user = push(user, {.mapping = file,
                     .kind = kReturn,
                     .address = 0x1234,
                     .function = function("f<int>", "_Z1fIiEvv"),
                     .file = source,
                     .line = 9,
                     .symbol_offset = 0x34});
  user = push(user, {.mapping = file,
                     .kind = kReturn,
                     .inlined = true,
                     .address = 0x1234,
                     .function = function("g", "_Z1gv"),
                     .file = source,
                     .line = 20});
  user = push(user, {.mapping = library, .address = 0x500, .function = function("[unknown] lib.so+0x500", "", false)});
  model::StackId generated =
      push({}, {.mapping = library, .kind = kReturn, .address = 0x800, .function = function("run", "run")});
  generated = push(generated, {.mapping = jit,
                               .kind = kReturn,
                               .address = 0x7f0000001010,
                               .function = function("LFoo;::bar", "LFoo;::bar"),
                               .file = source,
                               .line = 3});
  generated = push(generated, {.mapping = anonymous,
                               .address = 0x7f0000100020,
                               .function = function("[unknown] [anon]+0x7f0000100020", "", false)});
  model::StackId system = push({}, {.mapping = vdso, .address = 0x900, .function = function("gettime", "gettime")});
  system = push(system, {.mapping = kernel,
                         .kind = kReturn,
                         .address = 0xffffffff81200000,
                         .function = function("do_syscall_64", "do_syscall_64")});
  system = push(system, {.mapping = module,
                         .kind = kReturn,
                         .address = 0xffffffffc0100040,
                         .function = function("ext4_read", "ext4_read")});
  system =
      push(system, {.mapping = bpf, .address = 0xffffffffc0000120, .function = function("bpf_prog_1", "bpf_prog_1")});
  // Two functions of one address, as merged profiles have them, and one that has none.
  const auto other = push({}, {.mapping = file, .address = 0x1010, .function = function("another", "another")});
  const auto same = push({}, {.mapping = file, .address = 0x1010, .function = function("clash", "clash")});
  const auto lost = push({}, {.mapping = kernel, .address = 0, .function = function("name_only", "name_only")});
  const auto nowhere = push({}, {.address = 0x4242, .function = function("[unknown] 0x4242", "", false)});

  uint64_t time = 1000;
  const auto sample = [&](model::StackId stack, model::EventId event, model::ThreadId thread, uint64_t count,
                          uint64_t value) {
    assembler.sample({.stack = stack,
                      .event = event,
                      .thread = thread,
                      .count = count,
                      .value = value,
                      .time = ++time,
                      .cpu = static_cast<int32_t>(time % 4)});
  };
  sample(user, cycles, main_thread, 1, 1000);
  sample(user, bytes, worker, 3, 4096);
  sample(generated, cycles, worker, 1, 17);
  sample(system, cycles, main_thread, 2, 5);
  sample(system, cycles, kworker, 1, 1);
  sample(other, cycles, renamed, 1, 2);
  sample(same, cycles, renamed, 1, 3);
  sample(lost, cycles, kworker, 1, 4);
  sample(nowhere, cycles, nobody, 1, 6);
  sample(user, cycles, main_thread, 1, 8);
  assembler.quality().lost = 12;
  assembler.quality().throttled = 3;
  assembler.quality()[Reason::no_symbol] = 5;
  assembler.facts() = {.engine = "frame pointers",
                       .clock = "CLOCK_MONOTONIC",
                       .host = "here",
                       .arch = "x86_64",
                       .command_line = "prog -x 1",
                       .comments = {"first", "second\nline"}};
  const Profile profile = std::move(assembler).finish();

  const Profile again = converted(profile);
  auto expected = rows(profile);
  // In the kernel what has a name alone is read as a piece of code of that name.
  const std::string lost_row = expected[7];
  expected[7].replace(lost_row.find("|[kernel.kallsyms]|"), 19, "|name_only|");
  EXPECT_EQ(rows(again), expected);
  EXPECT_EQ(again.quality, profile.quality);
  EXPECT_EQ(again.facts.engine, profile.facts.engine);
  EXPECT_EQ(again.facts.clock, "CLOCK_MONOTONIC");
  EXPECT_EQ(again.facts.host, "here");
  EXPECT_EQ(again.facts.command_line, "prog -x 1");
  EXPECT_EQ(again.facts.comments, profile.facts.comments);
  EXPECT_EQ(again.text(again.events[again.samples.event[1]].counted), "alloc_objects");
  const auto& first = again.frames[again.stacks[again.samples.stack[0]].frame];
  EXPECT_EQ(first.address, 0x500u);
  EXPECT_EQ(again.mappings[first.mapping].file, (model::FileIdentity{(uint64_t{8} << 32) | 1, 77, 3}));
  // And once more, from what was read.
  EXPECT_EQ(rows(converted(again)), rows(again));
}

// Real recordings: what is read, written and read is what was read.
TEST(PerfDataWriter, RecordingsAreTheSameAgain) {
  for (const uint32_t seed : {1u, 2u, 3u}) {
    SCOPED_TRACE(seed);
    const auto test = stream::random_recording({.seed = seed, .samples = 2000, .events = 3});
    for (const bool every : {true, false}) {
      const Profile profile =
          symbols::symbolize(stream::build_profile(test.recording(), {.keep_every_sample = every}), {});
      const auto file = write_perf_data(profile);
      ASSERT_TRUE(file.ok());
      const Profile again = read_back(*file, true);
      EXPECT_EQ(model::totals(again), model::totals(profile));
      EXPECT_EQ(rows(again), rows(profile));
      EXPECT_EQ(again.quality, profile.quality);
    }
  }
}

// Junk that frame pointers lead to must not push names out of memory, nor the kernel's image its modules.
TEST_F(Everything, AddressesFromEndToEnd) {
  const auto kernel = mapping(CodeKind::kKernel, "[kernel.kallsyms]");
  const auto module = mapping(CodeKind::kKernelModule, "[ext4]", 0xffffffffc0100000);
  const auto names = mapping(CodeKind::kImported, "");
  model::StackId stack = push({}, {.mapping = names, .function = function("main")});
  stack = push(stack, {.kind = kReturn, .address = 0x10, .function = function("[unknown] 0x10", "", false)});
  stack = push(stack, {.kind = kReturn, .address = 0xffffffffff600400, .function = function("[unknown] x", "", false)});
  stack = push(stack,
               {.mapping = kernel, .kind = kReturn, .address = 0xffff800000000010, .function = function("low", "low")});
  stack = push(stack, {.mapping = kernel, .kind = kReturn, .function = function("name_only", "name_only")});
  stack = push(stack, {.mapping = module,
                       .kind = kReturn,
                       .address = 0xffffffffc0100040,
                       .function = function("ext4_read", "ext4_read")});
  stack = push(stack, {.mapping = kernel, .address = 0xfffffffffffff000 - 0x800, .function = function("high", "high")});
  assembler.sample({.stack = stack,
                    .event = assembler.event({assembler.string("cycles"), assembler.string("events")}),
                    .thread = assembler.thread({1, 1, assembler.string("prog"), false}),
                    .value = 5});
  const Profile profile = std::move(assembler).finish();
  const Profile again = converted(profile);
  auto expected = rows(profile);
  expected[0].replace(expected[0].find("name_only|:0|[kernel.kallsyms]|"), 31, "name_only|:0|name_only|");
  EXPECT_EQ(rows(again), expected);
}

TEST(PerfDataWriter, StacksThatNoRecordHoldsAreCutAndCounted) {
  model::ProfileAssembler assembler;
  const auto mapping = assembler.mapping({.kind = CodeKind::kImported});
  model::StackId stack;
  for (int i = 0; i < 9000; ++i) {
    const auto function = assembler.function({.name = assembler.string(fmt::format("f{}", i)), .named = true});
    stack = assembler.stack(stack, assembler.frame({.mapping = mapping, .function = function}));
  }
  assembler.sample({.stack = stack,
                    .event = assembler.event({assembler.string("samples"), assembler.string("samples")}),
                    .thread = assembler.thread({}),
                    .count = 4,
                    .value = 4});
  const Profile again = converted(std::move(assembler).finish());
  EXPECT_EQ(model::totals(again), (model::Totals{4, 4}));
  EXPECT_EQ(again.quality[Reason::depth_limit], 4u);
}

// Numbers that were made up for tasks, and those of tasks without a name, do not become names.
TEST_F(Everything, TasksWithoutNumbersOrNames) {
  const auto event = assembler.event({assembler.string("cycles"), assembler.string("events")});
  const auto stack = push({}, {.mapping = mapping(CodeKind::kImported, ""), .function = function("main")});
  const model::StringId none;
  for (const model::Thread& thread :
       {model::Thread{-1, -1, none}, model::Thread{5, -1, none}, model::Thread{-1, 6, none}, model::Thread{7, 8, none},
        model::Thread{-1, -1, assembler.string("named")}}) {
    assembler.sample({.stack = stack, .event = event, .thread = assembler.thread(thread), .value = 5});
  }
  const Profile profile = std::move(assembler).finish();
  EXPECT_EQ(rows(converted(profile)), rows(profile));
}

TEST_F(Everything, OfManyCommentsTheVerdictIsKept) {
  const auto event = assembler.event({assembler.string("cycles"), assembler.string("events")});
  assembler.sample({.event = event, .thread = assembler.thread({1, 1, assembler.string("prog"), false}), .value = 5});
  for (int i = 0; i < 150; ++i) assembler.facts().comments.push_back(fmt::format("comment {}", i));
  assembler.facts().comments.emplace_back("verdict: good.");
  const auto comments = converted(std::move(assembler).finish()).facts.comments;
  ASSERT_EQ(comments.size(), 100u);
  EXPECT_EQ(comments[98], "comment 98");
  EXPECT_EQ(comments[99], "verdict: good.");
}

// Memory has one kernel. What is of that of another boot has its names, and not the names at its addresses in this one.
TEST_F(Everything, KernelsOfTwoBoots) {
  const auto other = mapping(CodeKind::kKernel, "[kernel.kallsyms]", 0xffffffff81000000);
  const auto kernel = mapping(CodeKind::kKernel, "[kernel.kallsyms]", 0xffffffff9a000000);
  const auto event = assembler.event({assembler.string("cycles"), assembler.string("events")});
  const auto thread = assembler.thread({10, 10, assembler.string("prog"), false});
  const auto in_kernel = [&](model::MappingId mapping, uint64_t address, std::string_view name) {
    const auto stack = push({}, {.mapping = mapping, .address = address, .function = function(name, name)});
    assembler.sample({.stack = stack, .event = event, .thread = thread, .value = 5});
  };
  in_kernel(other, 0xffffffff9a000100, "do_before");  // also an address of the other one
  in_kernel(other, 0xffffffff81000500, "[unknown] nothing");
  in_kernel(kernel, 0xffffffff9a000100, "do_now");
  in_kernel(kernel, 0xffffffff9a000200, "do_this");
  in_kernel(kernel, 0xffffffff9a000300, "do_that");
  const Profile profile = std::move(assembler).finish();
  const Profile again = converted(profile);
  ASSERT_EQ(again.samples.size(), 5u);
  for (size_t row = 0; row < again.samples.size(); ++row) {
    const model::FrameId before = profile.stacks[profile.samples.stack[row]].frame;
    const model::FrameId after = again.stacks[again.samples.stack[row]].frame;
    EXPECT_EQ(again.function_name(after), profile.function_name(before));
    EXPECT_EQ(again.code_kind(after), row < 2 ? CodeKind::kKernelCode : CodeKind::kKernel);
    if (row < 2) continue;
    EXPECT_EQ(again.frames[after].address, profile.frames[before].address);
  }
}

// What was missing from the whole is not all missing from a part of it.
TEST_F(Everything, APartHasItsShareOfWhatWasMissing) {
  const auto event = assembler.event({assembler.string("cycles"), assembler.string("events")});
  const auto names = mapping(CodeKind::kImported, "");
  for (const int32_t pid : {10, 20}) {
    assembler.sample({.stack = push({}, {.mapping = names, .function = function("main")}),
                      .event = event,
                      .thread = assembler.thread({pid, pid, assembler.string("prog"), false}),
                      .count = pid == 10 ? 25u : 75u,
                      .value = 5});
  }
  assembler.quality()[Reason::file_unproven] = 100;
  assembler.quality()[Reason::file_truncated] = 1;
  assembler.quality().own = 10;
  const Profile profile = std::move(assembler).finish();
  const auto file = write_perf_data(profile);
  ASSERT_TRUE(file.ok());
  const auto recording = kPerfData.open(base::as_bytes(*file));
  ASSERT_TRUE(recording.ok());
  EXPECT_EQ(stream::build_profile(*recording, {}).quality, profile.quality);
  stream::BuildOptions options;
  options.filter.pids = {10};
  const Profile part = stream::build_profile(*recording, options);
  EXPECT_EQ(model::totals(part).count, 25u);
  EXPECT_EQ(part.quality[Reason::file_unproven], 25u);
  EXPECT_EQ(part.quality[Reason::file_truncated], 1u);
  EXPECT_EQ(part.quality.own, 3u);
}

// Where each sample's frames were executing or calling, the leaf first: what symbols are looked up at.
std::vector<std::vector<uint64_t>> code_addresses(const Profile& profile) {
  std::vector<std::vector<uint64_t>> rows;
  for (model::StackId stack : profile.samples.stack) {
    auto& row = rows.emplace_back();
    for (; stack; stack = profile.stacks[stack].parent) {
      const model::Frame& frame = profile.frames[profile.stacks[stack].frame];
      row.push_back(frame.address - (frame.kind == model::AddressKind::kReturn ? 1 : 0));
    }
  }
  return rows;
}

// Heap profiles end in a call, and pprof's callers are calls, not what they return to. A chain of addresses says
// neither.
TEST_F(Everything, CallsStayWhereTheyAre) {
  const auto file = mapping(CodeKind::kFile, "/usr/bin/prog");
  const auto jit = mapping(CodeKind::kJit, "LFoo;::bar", 0x7f0000001000, 10);
  const auto kernel = mapping(CodeKind::kKernel, "[kernel.kallsyms]", 0xffffffff81000000);
  const auto event = assembler.event({assembler.string("inuse_space"), assembler.string("bytes")});
  const auto thread = assembler.thread({10, 10, assembler.string("prog"), false});
  const model::Frame call{.mapping = file, .address = 0xfff, .function = function("main", "main"), .symbol_offset = 9};
  const model::Frame returned{
      .mapping = file, .kind = kReturn, .address = 0x2000, .function = function("alloc", "alloc"), .symbol_offset = 16};
  const auto caller = push({}, call);
  const auto both = push(caller, returned);  // a caller and a leaf
  const auto generated = push(both, {.mapping = jit, .address = 0x7f0000001000, .function = function("LFoo;::bar")});
  const auto nowhere = push(generated, {.address = 0x55, .function = function("[unknown] 0x55", "", false)});
  const auto in_kernel =
      push(nowhere,
           {.mapping = kernel, .kind = kReturn, .address = 0xffffffff81000100, .function = function("sys_x", "sys_x")});
  for (const auto stack : {caller, both, generated, in_kernel}) {
    assembler.sample({.stack = stack, .event = event, .thread = thread, .value = 5});
  }
  const Profile profile = std::move(assembler).finish();
  const Profile again = converted(profile);
  EXPECT_EQ(rows(again), rows(profile));
  EXPECT_EQ(code_addresses(again), code_addresses(profile));
  const model::Frame& leaf = again.frames[again.stacks[again.samples.stack[1]].frame];
  EXPECT_EQ(leaf.kind, model::AddressKind::kInstruction);
  EXPECT_EQ(leaf.symbol_offset, 15u);
  EXPECT_EQ(code_addresses(converted(again)), code_addresses(profile));
}

// A run of inlined functions takes memory as it is long, not as its square: of this one that would be 20 GB.
TEST_F(Everything, ALongRunOfInlinedFunctions) {
  constexpr uint32_t kLines = 100'000;
  const auto file = mapping(CodeKind::kFile, "/usr/bin/prog");
  const model::FunctionId inlined = function("inlined", "inlined");
  model::StackId stack = push({}, {.mapping = file, .address = 0x1000, .function = function("main", "main")});
  for (uint32_t line = 1; line <= kLines; ++line) {
    stack = push(stack, {.mapping = file, .inlined = true, .address = 0x1000, .function = inlined, .line = line});
  }
  assembler.sample({.stack = stack,
                    .event = assembler.event({assembler.string("cycles"), assembler.string("events")}),
                    .thread = assembler.thread({1, 1, assembler.string("prog"), false}),
                    .value = 5});
  const Profile profile = std::move(assembler).finish();
  EXPECT_EQ(rows(converted(profile)), rows(profile));
}

TEST(PerfDataWriter, AProfileWithoutEventsIsRefused) { EXPECT_FALSE(write_perf_data(Profile{}).ok()); }

}  // namespace
}  // namespace tephra::formats
