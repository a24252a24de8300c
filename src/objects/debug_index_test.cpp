// What is stored of debug information gives the same answers as the file, and does no harm when damaged.
#include "objects/debug_index.h"

#include <gtest/gtest.h>

#include <random>

#include "base/file.h"
#include "objects/elf_file.h"

namespace tephra::objects {
namespace {

const std::string kProgram = TEPHRA_BINARY_DIR "/programs/nested_inlines";

class StoredIndex : public testing::Test {
 protected:
  StoredIndex() : file_(base::FileContent::open(kProgram).value()) {
    const ElfFile elf = ElfFile::parse(file_.bytes()).value();
    const ElfFile::Section* text = elf.section(".text");
    for (uint64_t at = 0; at < text->size; ++at) addresses_.push_back(text->address + at);
    const auto info = DebugInfo::open(file_.bytes());
    info->prepare(addresses_);
    stored_ = info->updated_index();
  }

  // As text, since the views are of different memory.
  std::string answers(DebugInfo& info) const {
    std::string text;
    std::vector<DebugInfo::Level> levels;
    for (const uint64_t address : addresses_) {
      info.find(address, levels);
      text += std::to_string(address) + '\n';
      for (const auto& level : levels) {
        text.append(level.function).append(" ").append(level.file).append(":") += std::to_string(level.line) + '\n';
      }
    }
    return text;
  }

  base::FileContent file_;
  std::vector<uint64_t> addresses_;
  std::string stored_;
};

TEST_F(StoredIndex, AnswersWithoutTheFile) {
  ASSERT_FALSE(stored_.empty());
  const auto fresh = DebugInfo::open(file_.bytes());
  const auto again = DebugInfo::open({}, base::as_bytes(stored_));
  ASSERT_TRUE(again);
  EXPECT_EQ(answers(*again), answers(*fresh));
  EXPECT_NE(answers(*fresh).find("_ZN4nest6holderEi"), std::string::npos);
  EXPECT_EQ(again->updated_index(), "");
}

TEST_F(StoredIndex, GrowsByTheUnitsThatAreAskedFor) {
  const auto none = DebugInfo::open(file_.bytes());
  EXPECT_EQ(none->updated_index(), "");
  const DebugIndex whole(base::as_bytes(stored_));
  std::map<uint64_t, UnitTables> units;
  const std::string empty = DebugIndex::store(whole.ranges(), units);
  const auto grown = DebugInfo::open(file_.bytes(), base::as_bytes(empty));
  EXPECT_EQ(answers(*grown), answers(*none));
  EXPECT_EQ(grown->updated_index(), stored_);
}

TEST_F(StoredIndex, OfWrongAlignmentOrCutShortIsNoIndex) {
  const std::string shifted = " " + stored_;
  EXPECT_TRUE(DebugIndex(base::as_bytes(shifted).subspan(1)).empty());
  for (size_t size = 0; size < 64; ++size) EXPECT_TRUE(DebugIndex(base::as_bytes(stored_).first(size)).empty());
}

TEST_F(StoredIndex, DamageDoesNoHarm) {
  std::mt19937 random(1);
  std::vector<DebugInfo::Level> levels;
  for (int round = 0; round < 300; ++round) {
    std::string damaged = stored_;
    for (int i = 0; i < 8; ++i) {
      // Most of it in the part that says where everything is.
      const size_t at = random() % (i < 6 ? std::min<size_t>(damaged.size(), 400) : damaged.size());
      damaged[at] = static_cast<char>(random());
    }
    if (round % 3 == 0) damaged.resize(random() % damaged.size());
    const auto info = DebugInfo::open(file_.bytes(), base::as_bytes(damaged));
    for (size_t i = 0; info && i < addresses_.size(); i += 97) info->find(addresses_[i], levels);
    if (info) DebugIndex(base::as_bytes(info->updated_index()));
  }
}

}  // namespace
}  // namespace tephra::objects
