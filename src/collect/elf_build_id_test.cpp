#include "collect/elf_build_id.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <string>

#include "base/file.h"

namespace tephra::collect {
namespace {

std::string note(uint32_t type, const std::string& name, const std::string& content, uint32_t claimed) {
  std::string out;
  const auto put = [&](uint32_t value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); };
  put(static_cast<uint32_t>(name.size() + 1));
  put(claimed);
  put(type);
  out.append(name.c_str(), name.size() + 1);
  out.resize((out.size() + 3) / 4 * 4);
  out += content;
  out.resize((out.size() + 3) / 4 * 4);
  return out;
}

TEST(ElfBuildId, IsFoundAmongOtherNotes) {
  const std::string notes = note(1, "Linux", "abc", 3) + note(3, "GNU", std::string(20, '\x5a'), 20);
  EXPECT_EQ(build_id_in_notes(base::as_bytes(notes)).hex(), "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a");
}

TEST(ElfBuildId, BrokenNotesHaveNone) {
  const std::string good = note(3, "GNU", std::string(20, 'x'), 20);
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_TRUE(build_id_in_notes(base::as_bytes(good.substr(0, size))).empty()) << size;
  }
  EXPECT_TRUE(build_id_in_notes(base::as_bytes(note(3, "GNU", "xxxx", 0xffffffff))).empty());
  EXPECT_TRUE(build_id_of_image(base::as_bytes("\x7f"
                                               "ELF\2\1\1 and then nothing"))
                  .empty());
}

TEST(ElfBuildId, OfThisProgram) {
  const base::FileDescriptor fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const auto whole = base::FileContent::open("/proc/self/exe");
  ASSERT_TRUE(fd && whole.ok());
  EXPECT_EQ(build_id_of_file(fd.get()), build_id_of_image(whole->bytes()));
}

}  // namespace
}  // namespace tephra::collect
