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
  const auto kernel =
      assembler.mapping({.path = assembler.string("[kernel.kallsyms]"), .kind = CodeKind::kKernel, .base = 0x100});
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
  assembler.sample({at, assembler.event({assembler.string("cycles"), {}}),
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
  EXPECT_NE(redacted.mappings[MappingId{1}].build_id, example().mappings[MappingId{1}].build_id);
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

TEST(Redaction, EventsOfProcessorsStay) {
  const Redaction redaction("key");
  for (const char* name : {"cycles:u", "cpu/event=0x3c/", "sched:sched_switch", "r1a8"}) {
    EXPECT_EQ(redaction.event(name), name);
  }
  for (const char* name : {"probe_server:handle", "/opt/bpf.o", "mem:0x1234:w"}) {
    EXPECT_NE(redaction.event(name), name);
  }
}

}  // namespace
}  // namespace tephra::model
