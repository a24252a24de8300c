#include "symbols/program_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "model/profile_assembler.h"
#include "objects/elf_file.h"
#include "symbols/symbolize.h"

namespace tephra::symbols {
namespace {

using model::Profile;

constexpr const char* kSelf = "/proc/self/exe";

std::string own_path() { return std::filesystem::read_symlink(kSelf).string(); }

// A profile with one frame, in a mapping or in none.
Profile profile_with(const char* path, const model::BuildId& build_id, uint64_t address = 0x10) {
  model::ProfileAssembler assembler;
  model::Mapping row{.kind = model::CodeKind::kImported};
  if (path != nullptr) {
    assembler.mapping({.path = assembler.string("/lib/libother.so"), .kind = model::CodeKind::kFile});
    row = {.path = assembler.string(path), .build_id = build_id, .kind = model::CodeKind::kFile};
  }
  const auto frame = assembler.frame({.mapping = assembler.mapping(row), .address = address});
  assembler.sample({.stack = assembler.stack({}, frame),
                    .event = assembler.event({assembler.string("cpu"), assembler.string("ns"), {}, false}),
                    .thread = assembler.thread({})});
  return std::move(assembler).finish();
}

std::string path_of_frame(const Profile& profile) {
  return std::string(profile.text(profile.mappings[profile.frames[model::FrameId{1}].mapping].path));
}

struct Self {
  base::Result<base::FileContent> content = base::FileContent::open(own_path());
  base::Result<objects::ElfFile> elf = objects::ElfFile::parse(content.value().bytes());
  model::BuildId build_id{elf.value().build_id()};
};

TEST(ProgramFileTest, IsFoundByItsBuildId) {
  const Self self;
  ASSERT_FALSE(self.build_id.empty());
  const auto profile = with_program(profile_with("/elsewhere/other-name", self.build_id), own_path());
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  EXPECT_EQ(path_of_frame(*profile), own_path());
}

TEST(ProgramFileTest, IsFoundByItsName) {
  const Self self;
  const std::string same_name = "/elsewhere/" + std::filesystem::path(own_path()).filename().string();
  const auto profile = with_program(profile_with(same_name.c_str(), {}), own_path());
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(path_of_frame(*profile), own_path());
  EXPECT_EQ(profile->mappings[profile->frames[model::FrameId{1}].mapping].build_id, self.build_id);
}

TEST(ProgramFileTest, IsElseTheFirstMapping) {
  const auto profile = with_program(profile_with("/elsewhere/prog", {}), own_path());
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(path_of_frame(*profile), "/elsewhere/prog");
  EXPECT_EQ(profile->text(profile->mappings[model::MappingId{1}].path), own_path());
}

TEST(ProgramFileTest, OfAnotherBuildIsRefused) {
  const std::string same_name = "/elsewhere/" + std::filesystem::path(own_path()).filename().string();
  const auto other = *model::BuildId::from_hex("00112233445566778899aabbccddeeff00112233");
  const auto profile = with_program(profile_with(same_name.c_str(), other), own_path());
  ASSERT_FALSE(profile.ok());
  EXPECT_NE(profile.error().why.find("00112233445566778899aabbccddeeff00112233"), std::string::npos);
}

TEST(ProgramFileTest, AddressesWithoutMappingsAreThoseOfTheFile) {
  const Self self;
  const uint64_t entry = self.elf.value().entry();
  const auto profile = with_program(profile_with(nullptr, {}, entry), own_path());
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(path_of_frame(*profile), own_path());
  EXPECT_EQ(profile->frames[model::FrameId{1}].address, self.elf.value().offset_of_address(entry));
  const Profile named = symbolize(*profile, {});
  EXPECT_EQ(named.function_name(model::FrameId{1}), "_start");
}

TEST(ProgramFileTest, OtherFilesAreNoPrograms) {
  EXPECT_TRUE(is_elf_file(kSelf));
  EXPECT_FALSE(is_elf_file("/proc/self/maps"));
  EXPECT_FALSE(is_elf_file("/does/not/exist"));
}

}  // namespace
}  // namespace tephra::symbols
