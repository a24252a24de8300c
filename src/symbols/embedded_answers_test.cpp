#include "symbols/embedded_answers.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "model/profile_assembler.h"

namespace tephra::symbols {
namespace {

using model::AddressKind;
using model::CodeKind;
using model::Reason;

constexpr const char* kSymbol = "_ZN6server6handleEi";

model::BuildId build_id() {
  std::array<std::byte, 20> bytes{};
  bytes[3] = std::byte{9};
  return model::BuildId(bytes);
}

struct TestMapping {
  std::string path = "/no/such/folder/server";
  model::BuildId id = build_id();
  model::FileIdentity file;
  CodeKind kind = CodeKind::kFile;
};

// A stack of two frames of a file that is not at hand: 0x10 was called from 0x20.
model::Profile unnamed(const TestMapping& test = {}) {
  model::ProfileAssembler assembler;
  model::Mapping mapping;
  mapping.path = assembler.string(test.path);
  mapping.build_id = test.id;
  mapping.file = test.file;
  mapping.kind = test.kind;
  const auto id = assembler.mapping(mapping);
  const auto caller =
      assembler.stack({}, assembler.frame({.mapping = id, .kind = AddressKind::kReturn, .address = 0x20}));
  const auto leaf = assembler.stack(caller, assembler.frame({.mapping = id, .address = 0x10}));
  assembler.sample({leaf, assembler.event({assembler.string("cycles"), {}}), assembler.thread({1, 1, {}}), 3, 3});
  return std::move(assembler).finish();
}

// What a recorder would have found: an inlined call at 0x10, nothing at 0x20.
std::vector<Answers> found(const model::Profile& profile) {
  Answers answers;
  model::for_each_id(profile.frames, [&](model::FrameId id) {
    if (id == model::FrameId{}) return;
    if (profile.frames[id].address == 0x20) {
      answers.add_unknown(id, "[unknown] server+0x18", Reason::no_symbol);
      answers.rows.back().facts = model::kOutermost;
      return;
    }
    answers.rows.push_back({id, static_cast<uint32_t>(answers.levels.size()), 2, model::kFrameNotSetUp, {}, 4});
    answers.levels.push_back({answers.strings.add("server::handle"), answers.strings.add(kSymbol),
                              answers.strings.add("/src/server.cpp"), 12, true});
    answers.levels.push_back(
        {answers.strings.add("parse"), answers.strings.add("parse"), answers.strings.add("/src/parse.h"), 7, true});
  });
  std::vector<Answers> all;
  all.push_back(std::move(answers));
  return all;
}

model::Profile with_names(model::Profile profile, const model::Profile& recorded) {
  profile.facts.names = std::make_shared<const model::EmbeddedNames>(embed(recorded, found(recorded)));
  return profile;
}

// "root;…;leaf" of the only sample.
std::string stack_text(const model::Profile& profile) {
  std::string text;
  for (auto at = profile.samples.stack[0]; at != model::StackId{}; at = profile.stacks[at].parent) {
    const std::string name(profile.function_name(profile.stacks[at].frame));
    text = text.empty() ? name : name + ";" + text;
  }
  return text;
}

TEST(EmbeddedAnswers, NameFramesOfFilesThatAreGone) {
  const model::Profile named = symbolize(with_names(unnamed(), unnamed()), {});
  EXPECT_EQ(stack_text(named), "[unknown] server+0x18;server::handle;parse");
  EXPECT_EQ(named.quality[Reason::no_symbol], 3u);
  EXPECT_EQ(named.quality[Reason::file_missing], 0u);
  EXPECT_EQ(named.facts.names, nullptr);
  const auto leaf = named.stacks[named.samples.stack[0]].frame;
  EXPECT_TRUE(named.frames[leaf].inlined);
  EXPECT_EQ(named.frames[leaf].line, 7u);
  EXPECT_EQ(named.frames[leaf].symbol_offset, 4u);
  EXPECT_EQ(named.frames[leaf].facts, model::kFrameNotSetUp);
}

TEST(EmbeddedAnswers, ObeyTheReadersOptions) {
  const model::Profile profile = with_names(unnamed(), unnamed());
  EXPECT_EQ(stack_text(symbolize(profile, {.inlines = false})), "[unknown] server+0x18;server::handle");
  EXPECT_EQ(stack_text(symbolize(profile, {.demangle = false})),
            std::string("[unknown] server+0x18;") + kSymbol + ";parse");
  EXPECT_EQ(stack_text(symbolize(profile, {.full_names = true})), "[unknown] server+0x18;server::handle(int);parse");
  EXPECT_EQ(stack_text(symbolize(profile, {.exact_unknown = true})), "[unknown] server+0x20;server::handle;parse");
}

TEST(EmbeddedAnswers, AreNotThoseOfAnotherFile) {
  TestMapping other;
  std::array<std::byte, 20> bytes{};
  other.id = model::BuildId(bytes);
  const model::Profile named = symbolize(with_names(unnamed(other), unnamed()), {});
  EXPECT_EQ(stack_text(named), "[unknown] server+0x20;[unknown] server+0x10");
  EXPECT_EQ(named.quality[Reason::file_missing], 6u);
}

// Our own program is at hand; with its build id it is proven to be the file, and then tells no less.
TEST(EmbeddedAnswers, AFileWithoutBuildIdNeverOverridesThem) {
  TestMapping own;
  own.path = "/proc/self/exe";
  own.id = {};
  const model::Profile named = symbolize(with_names(unnamed(own), unnamed(own)), {});
  EXPECT_EQ(stack_text(named), "[unknown] server+0x18;server::handle;parse");
}

TEST(EmbeddedAnswers, KernelNamesAreNotDemangled) {
  TestMapping kernel{.path = "[kernel.kallsyms]", .kind = CodeKind::kKernel};
  const model::Profile profile = unnamed(kernel);
  Answers answers;
  model::for_each_id(profile.frames, [&](model::FrameId id) {
    if (id != model::FrameId{}) answers.add_named(id, "_RNvC1a1b", "_RNvC1a1b", 5);
  });
  std::vector<Answers> all;
  all.push_back(std::move(answers));
  model::Profile read = unnamed(kernel);
  read.facts.names = std::make_shared<const model::EmbeddedNames>(embed(profile, all));
  EXPECT_EQ(stack_text(symbolize(read, {})), "_RNvC1a1b;_RNvC1a1b");
}

TEST(EmbeddedAnswers, OfGeneratedCodeOnlyNamesAreStored) {
  TestMapping jit{.path = "//anon", .id = {}, .kind = CodeKind::kAnonymous};
  const model::Profile profile = unnamed(jit);
  const auto names = embed(profile, look_up(profile, {}));
  EXPECT_TRUE(names.empty());
}

}  // namespace
}  // namespace tephra::symbols
