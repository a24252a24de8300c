#include "symbols/linked_addresses.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "base/file.h"
#include "model/profile_assembler.h"

namespace tephra::symbols {
namespace {

using model::AddressKind;
using model::Profile;

constexpr uint64_t kFirst = 0x200000;
constexpr uint64_t kCodeOffset = 0x700;
constexpr uint64_t kCodeAddress = 0x201700;
constexpr uint64_t kCodeSize = 0x500;
// How much further code is in memory than in the file.
constexpr uint64_t kShift = kCodeAddress - kFirst - kCodeOffset;

// A file as lld lays it out: each segment begins a page later than it does in the file.
std::string linked_by_lld() {
  Elf64_Ehdr header{};
  std::copy_n(ELFMAG, SELFMAG, header.e_ident);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = header.e_version = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = EM_X86_64;
  header.e_phoff = header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  const std::array<Elf64_Phdr, 2> segments{
      {{PT_LOAD, PF_R, 0, kFirst, kFirst, kCodeOffset, kCodeOffset, 0x1000},
       {PT_LOAD, PF_R | PF_X, kCodeOffset, kCodeAddress, kCodeAddress, kCodeSize, kCodeSize, 0x1000}}};
  header.e_phnum = segments.size();
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file.append(reinterpret_cast<const char*>(segments.data()), sizeof segments);
  file.resize(kCodeOffset + kCodeSize);
  return file;
}

class LinkedAddressesTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(base::write_file(path_, linked_by_lld()).ok()); }
  void TearDown() override { std::filesystem::remove(path_); }

  Profile profile_with(const std::string& path, const std::vector<std::pair<uint64_t, AddressKind>>& addresses) const {
    model::ProfileAssembler assembler;
    const auto mapping = assembler.mapping({.path = assembler.string(path), .kind = model::CodeKind::kFile});
    model::StackId stack;
    for (const auto& [address, kind] : addresses) {
      stack = assembler.stack(stack, assembler.frame({.mapping = mapping, .kind = kind, .address = address}));
    }
    assembler.sample(
        {.stack = stack, .event = assembler.event({assembler.string("cpu"), {}}), .thread = assembler.thread({})});
    return std::move(assembler).finish();
  }

  static std::vector<uint64_t> addresses_of(const Profile& profile) {
    std::vector<uint64_t> addresses;
    for (uint32_t i = 1; i < profile.frames.size(); ++i) addresses.push_back(profile.frames[model::FrameId{i}].address);
    return addresses;
  }

  const std::string path_ = std::filesystem::temp_directory_path() / fmt::format("tephra-linked-{}", ::getpid());
};

TEST_F(LinkedAddressesTest, ProgramHeadersTellOffsetsAndAddresses) {
  // The first byte of code, one within, and where a call returns to that ends the segment.
  const std::vector<uint64_t> offsets{kCodeOffset, kCodeOffset + 0x10, kCodeOffset + kCodeSize};
  const Profile in_file = profile_with(path_, {{offsets[0], AddressKind::kInstruction},
                                               {offsets[1], AddressKind::kInstruction},
                                               {offsets[2], AddressKind::kReturn}});
  FileFinder finder;
  const Profile loaded = with_relative_addresses(in_file, finder);
  EXPECT_EQ(addresses_of(loaded),
            (std::vector<uint64_t>{offsets[0] + kShift, offsets[1] + kShift, offsets[2] + kShift}));
  EXPECT_EQ(addresses_of(with_file_offsets(loaded, finder)), offsets);
}

TEST_F(LinkedAddressesTest, AddressesOfOtherFilesAndOutsideOfSegmentsStay) {
  FileFinder finder;
  const Profile missing = profile_with(path_ + "-missing", {{kCodeOffset, AddressKind::kInstruction}});
  EXPECT_EQ(addresses_of(with_relative_addresses(missing, finder)), std::vector<uint64_t>{kCodeOffset});
  EXPECT_EQ(addresses_of(with_file_offsets(missing, finder)), std::vector<uint64_t>{kCodeOffset});
  const Profile outside = profile_with(path_, {{0x100000, AddressKind::kInstruction}});
  EXPECT_EQ(addresses_of(with_file_offsets(outside, finder)), std::vector<uint64_t>{0x100000});
}

TEST_F(LinkedAddressesTest, AFileOfAnotherBuildTellsNothing) {
  FileFinder finder;
  Profile other = profile_with(path_, {{kCodeOffset, AddressKind::kInstruction}});
  const std::array<std::byte, 4> id{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  other.mappings[model::MappingId{1}].build_id = model::BuildId(id);
  EXPECT_EQ(addresses_of(with_relative_addresses(other, finder)), std::vector<uint64_t>{kCodeOffset});
}

TEST_F(LinkedAddressesTest, WhatIsAtHandIsFoundWithoutAskingForMore) {
  FileFinder finder;
  EXPECT_TRUE(finder.find_code_at_hand({path_, {}, {}}).content);
  EXPECT_FALSE(finder.find_code_at_hand({path_ + "-missing", {}, {}}).content);
}

}  // namespace
}  // namespace tephra::symbols
