#include "model/redaction.h"

#include <gtest/gtest.h>

#include <array>

#include "model/profile_assembler.h"

namespace tephra::model {
namespace {

Profile example() {
  ProfileAssembler assembler;
  Mapping program{.path = assembler.string("/opt/secret/bin/server"), .kind = CodeKind::kFile};
  const std::array<std::byte, 4> id{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  program.build_id = BuildId(id);
  program.file = {1, 2, 3};
  const auto file = assembler.mapping(program);
  const auto kernel = assembler.mapping({.path = assembler.string("[kernel.kallsyms]"),
                                         .build_id = BuildId(id),
                                         .kind = CodeKind::kKernel,
                                         .base = 0x100});
  const auto copy = assembler.function({assembler.string("memcpy"), assembler.string("memcpy"), true});
  const auto unknown = assembler.function({assembler.string("[unknown] server+0x1200"), {}, false});
  auto at = assembler.stack({}, assembler.frame({.mapping = file, .address = 1, .function = unknown}));
  at = assembler.stack(at, assembler.frame({.mapping = file,
                                            .address = 2,
                                            .function = copy,
                                            .file = assembler.string("/home/me/secret.cpp"),
                                            .line = 7}));
  at = assembler.stack(at, assembler.frame({.mapping = kernel, .address = 3, .function = copy}));
  assembler.sample({at, assembler.event({assembler.string("probe_server:handle"), {}}),
                    assembler.thread({7, 7, assembler.string("server")}), 1, 1});
  const auto in_kernel = assembler.stack({}, assembler.frame({.mapping = kernel, .address = 3, .function = copy}));
  assembler.sample({in_kernel, assembler.event({assembler.string("cycles"), {}}),
                    assembler.thread({2, 2, assembler.string("kworker/0:1"), true}), 1, 1});
  assembler.facts().host = "secret-host";
  assembler.facts().command_line = "record secret";
  return std::move(assembler).finish();
}

std::string all_text(const Profile& profile) {
  std::string text = profile.facts.host + profile.facts.command_line;
  for (uint32_t i = 0; i < profile.strings.size(); ++i) text += std::string(profile.strings[StringId{i}]) + "\n";
  return text;
}

TEST(Redaction, LeavesNoName) {
  const Profile redacted = redact(example(), Redaction("key"));
  const std::string text = all_text(redacted);
  for (const char* name : {"secret", "server", "/home", "handle"})
    EXPECT_EQ(text.find(name), std::string::npos) << text;
  for (const char* name : {"[kernel.kallsyms]", "kworker/0:1", "cycles"}) EXPECT_NE(text.find(name), std::string::npos);
  for (const uint32_t file : {1, 2}) {
    EXPECT_NE(redacted.mappings[MappingId{file}].build_id, example().mappings[MappingId{file}].build_id);
    EXPECT_FALSE(redacted.mappings[MappingId{file}].build_id.empty());
  }
  EXPECT_EQ(totals(redacted), totals(example()));
}

TEST(Redaction, KernelNamesStayAndProgramsOfTheSameNameDoNot) {
  const Profile redacted = redact(example(), Redaction("key"));
  EXPECT_EQ(redacted.function_name(FrameId{3}), "memcpy");
  EXPECT_EQ(redacted.function_name(FrameId{2}), Redaction("key").function("memcpy"));
  EXPECT_EQ(redacted.frames[FrameId{2}].line, 7u);
}

TEST(Redaction, UnknownPlacesKeepTheirOffset) {
  const Profile redacted = redact(example(), Redaction("key"));
  const std::string_view name = redacted.function_name(FrameId{1});
  EXPECT_TRUE(name.starts_with("[unknown] file_")) << name;
  EXPECT_TRUE(name.ends_with("+0x1200")) << name;
}

TEST(Redaction, DependsOnTheKeyAndOnNothingElse) {
  EXPECT_EQ(Redaction("a").function("main"), Redaction("a").function("main"));
  EXPECT_NE(Redaction("a").function("main"), Redaction("b").function("main"));
  EXPECT_NE(Redaction("a").function("main").substr(3), Redaction("a").comm("main").substr(5));
  EXPECT_EQ(all_text(redact(example(), Redaction("a"))), all_text(redact(example(), Redaction("a"))));
}

TEST(Redaction, OnlyNamesOfLinuxOwnEventsStay) {
  const Redaction redaction("key");
  for (const char* name : {"cycles:u", "cpu/event=0x3c/", "cpu/mem-loads,ldlat=30/pp", "sched:sched_switch", "r1a8",
                           "LLC-load-misses", "L1-dcache-loads:uk", "type:1:0x63", "cpu-clock#2",
                           "syscalls:sys_enter_read", "ext4:ext4_da_write_begin", "dummy:HG"}) {
    EXPECT_EQ(redaction.event(name), name);
  }
  for (const char* name : {"probe_server:handle", "/opt/bpf.o", "mem:0x1234:w", "mycorp:secretprobe", "secretname",
                           "cpu/event=0x3c,name=secret/", "uprobe/path=secret/", "sched:a secret", "LLC-secret",
                           "sdt_app:start", "rsecret", "sched sched:x", "cpu-clock#secret"}) {
    EXPECT_TRUE(redaction.event(name).starts_with("event_")) << name;
  }
}

// A name that begins as one of the kernel's own does: only the kind of code decides whose it is.
TEST(Redaction, KindsOfCodeDecideWhatStays) {
  const Redaction redaction("key");
  for (const CodeKind kind : {CodeKind::kFile, CodeKind::kAnonymous, CodeKind::kImported, CodeKind::kJit,
                              CodeKind::kKernelCode, CodeKind::kNone}) {
    for (const char* name : {"[secret]", "/opt/secret", "//secret", "secret", "[anon:secret]", "/memfd:secret"}) {
      EXPECT_EQ(redaction.path(name, kind).find("secret"), std::string::npos) << name;
      const std::string place = "[unknown] " + std::string(name) + "+0x1080";
      EXPECT_EQ(redaction.stand_in(place, kind).find("secret"), std::string::npos) << place;
      EXPECT_TRUE(redaction.stand_in(place, kind).ends_with("+0x1080")) << place;
    }
  }
  EXPECT_EQ(redaction.path("//anon", CodeKind::kAnonymous), "//anon");
  EXPECT_EQ(redaction.path("[heap]", CodeKind::kAnonymous), "[heap]");
  EXPECT_EQ(redaction.path("[vdso]", CodeKind::kVdso), "[vdso]");
  EXPECT_EQ(redaction.path("[ext4]", CodeKind::kKernelModule), "[ext4]");
  EXPECT_NE(redaction.path("[heap]", CodeKind::kFile), "[heap]");
  EXPECT_EQ(redaction.stand_in("[unknown] [anon]+0x10", CodeKind::kAnonymous), "[unknown] [anon]+0x10");
  EXPECT_EQ(redaction.stand_in("[unknown] 0x7f10", CodeKind::kNone), "[unknown] 0x7f10");
  EXPECT_EQ(redaction.stand_in("[unknown]", CodeKind::kImported), "[unknown]");
}

TEST(Redaction, MarksOfImportedNamesStay) {
  const Redaction redaction("key");
  EXPECT_EQ(redaction.imported("do_read_[k]"), redaction.function("do_read") + "_[k]");
  EXPECT_EQ(redaction.imported("do_read"), redaction.function("do_read"));
}

std::string redacted_comm(std::string_view comm, bool kernel_thread, CodeKind code) {
  ProfileAssembler assembler;
  const auto mapping = assembler.mapping({.path = assembler.string("x"), .kind = code});
  const auto stack = assembler.stack({}, assembler.frame({.mapping = mapping, .address = 1}));
  const auto thread = assembler.thread({7, 7, assembler.string(comm), kernel_thread});
  assembler.sample({stack, assembler.event({assembler.string("cycles"), {}}), thread, 1, 1});
  const Profile redacted = redact(std::move(assembler).finish(), Redaction("key"));
  return std::string(redacted.text(redacted.threads[ThreadId{0}].comm));
}

TEST(Redaction, OnlyNumbersAndKernelThreadsKeepTheirName) {
  EXPECT_EQ(redacted_comm(":1234", false, CodeKind::kFile), ":1234");
  EXPECT_EQ(redacted_comm("kswapd0", true, CodeKind::kKernel), "kswapd0");
  for (const char* name : {":topsecret", ":12secret", ":", "swapper"}) {
    EXPECT_EQ(redacted_comm(name, false, CodeKind::kFile), Redaction("key").comm(name));
  }
  // A process whose mappings were lost looks like a kernel thread, until it is seen in code of its own.
  EXPECT_EQ(redacted_comm("secret", true, CodeKind::kNone), Redaction("key").comm("secret"));
}

}  // namespace
}  // namespace tephra::model
