#include "symbols/file_finder.h"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/located_file.h"
#include "symbols/code_object.h"
#include "symbols/regular_file.h"

namespace tephra::symbols {
namespace {

using model::Reason;

const std::string kProgram = TEPHRA_BINARY_DIR "/programs/nested_inlines";
const std::string kOther = TEPHRA_BINARY_DIR "/programs/spin";

model::BuildId build_id_of(const std::string& path) {
  const auto file = base::FileContent::open(path);
  return model::BuildId(objects::ElfFile::parse(file->bytes())->build_id());
}

class FileFinderTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("tephra-finder-{}", ::getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string put(const std::string& from, const std::string& name) const {
    const std::filesystem::path to = folder_ / name;
    std::filesystem::create_directories(to.parent_path());
    std::filesystem::copy(from, to);
    return to;
  }

  std::filesystem::path folder_;
};

TEST_F(FileFinderTest, ByPathIfTheBuildIdIsTheSame) {
  FileFinder finder;
  const auto found = finder.find_code({kProgram, build_id_of(kProgram), {}});
  ASSERT_TRUE(found.content);
  EXPECT_EQ(found.path, kProgram);
  const auto other = finder.find_code({kProgram, build_id_of(kOther), {}});
  EXPECT_FALSE(other.content);
  EXPECT_EQ(other.why_not, Reason::build_id_mismatch);
  ASSERT_EQ(finder.refusals().size(), 1u);
  EXPECT_EQ(finder.refusals()[0], fmt::format("{}: not used: its build id is {}, wanted is {}", kProgram,
                                              build_id_of(kProgram).hex(), build_id_of(kOther).hex()));
  EXPECT_EQ(finder.find_code({folder_ / "absent", build_id_of(kOther), {}}).why_not, Reason::file_missing);
}

TEST_F(FileFinderTest, BelowASymfs) {
  put(kOther, "sys/opt/program");
  FileFinder finder({.symfs = folder_ / "sys"});
  EXPECT_EQ(finder.find_code({"/opt/program", build_id_of(kOther), {}}).path, folder_ / "sys/opt/program");
  // Without a build id, this machine's own file proves nothing about the other machine's.
  EXPECT_EQ(finder.find_code({"/opt/program", {}, {}}).path, folder_ / "sys/opt/program");
  EXPECT_FALSE(finder.find_code({kProgram, {}, {}}).content);
  EXPECT_EQ(finder.find_code({kProgram, build_id_of(kProgram), {}}).path, kProgram);
}

TEST_F(FileFinderTest, WithoutABuildIdWhatWasChangedAfterTheRecordingDidNotRun) {
  const std::string path = put(kProgram, "program");
  struct stat now {};
  ASSERT_EQ(::stat(path.c_str(), &now), 0);
  const int64_t changed = now.st_mtim.tv_sec * int64_t{1'000'000'000} + now.st_mtim.tv_nsec;
  const auto find = [&](FileFinder& finder, const model::BuildId& id) { return finder.find_code({path, id, {}}); };
  FileFinder later;
  later.recorded_until(changed);
  EXPECT_TRUE(find(later, {}).content);
  FileFinder before;
  before.recorded_until(changed - 1);
  EXPECT_FALSE(find(before, {}).content);
  EXPECT_EQ(find(before, {}).why_not, Reason::build_id_mismatch);
  ASSERT_EQ(before.refusals().size(), 1u);
  EXPECT_NE(before.refusals()[0].find("changed after the recording was made"), std::string::npos);
  // A build id proves it, and copies elsewhere have the time at which they were made.
  EXPECT_TRUE(find(before, build_id_of(kProgram)).content);
  put(kProgram, "sys" + path);
  FileFinder copied({.symfs = folder_ / "sys"});
  copied.recorded_until(changed - 1);
  EXPECT_TRUE(find(copied, {}).content);
}

TEST_F(FileFinderTest, AWrongCandidateDoesNotHideARightOne) {
  const model::BuildId wanted = build_id_of(kOther);
  put(kProgram, "first/program");
  const std::string right = put(kOther, "second/program");
  FileFinder finder({.binary_folders = {folder_ / "first", folder_ / "second"}});
  EXPECT_EQ(finder.find_code({"/gone/program", wanted, {}}).path, right);
  EXPECT_EQ(finder.refusals().size(), 1u);
}

TEST_F(FileFinderTest, AnswersAreRemembered) {
  const std::string path = put(kOther, "program");
  FileFinder finder;
  const auto first = finder.find_code({path, build_id_of(kOther), {}});
  std::filesystem::remove(path);
  EXPECT_EQ(finder.find_code({path, build_id_of(kOther), {}}).content, first.content);
}

TEST_F(FileFinderTest, OnlyRegularFilesOfPlausibleSizeAreOpened) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/zero"), std::string("/dev/null")}) {
    Refusal refusal{};
    EXPECT_FALSE(open_regular(path, &refusal)) << path;
    EXPECT_EQ(refusal, Refusal::kNotRegular) << path;
  }
  Refusal refusal = Refusal::kNotRegular;
  EXPECT_FALSE(open_regular(folder_ / "absent", &refusal));
  EXPECT_EQ(refusal, Refusal::kNone);
  EXPECT_FALSE(open_regular(folder_));
  const std::string sparse = folder_ / "sparse";
  std::ofstream(sparse) << "x";
  std::filesystem::resize_file(sparse, uint64_t{100} << 30);
  EXPECT_FALSE(open_regular(sparse, &refusal));
  EXPECT_EQ(refusal, Refusal::kImplausibleSize);
}

// The kernel makes them up while they are read: some have no end, others lose what was read.
TEST_F(FileFinderTest, FilesThatAreNotStoredAreNotRead) {
  for (const std::string path : {"/proc/self/pagemap", "/proc/kallsyms", "/sys/kernel/notes"}) {
    if (!std::filesystem::exists(path)) continue;
    Refusal refusal{};
    EXPECT_FALSE(open_regular(path, &refusal)) << path;
    EXPECT_EQ(refusal, Refusal::kNotStored) << path;
    const base::FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) continue;
    EXPECT_FALSE(content_of_regular(fd.get(), path, &refusal)) << path;
    EXPECT_EQ(refusal, Refusal::kNotStored) << path;
  }
  std::ofstream(folder_ / "empty").close();
  Refusal refusal{};
  EXPECT_FALSE(open_regular(folder_ / "empty", &refusal));
  EXPECT_EQ(refusal, Refusal::kEmpty);
  FileFinder finder;
  EXPECT_FALSE(finder.find_code({"/proc/self/pagemap", {}, {}}).content);
  ASSERT_EQ(finder.refusals().size(), 1u);
  EXPECT_NE(finder.refusals()[0].find("/proc/self/pagemap: not used: it is not a stored file"), std::string::npos);
  // A magic link of /proc leads to a stored file.
  const base::FileDescriptor held(::open(kProgram.c_str(), O_RDONLY | O_CLOEXEC));
  const auto behind_link = open_regular(fmt::format("/proc/self/fd/{}", held.get()));
  ASSERT_TRUE(behind_link);
  EXPECT_TRUE(behind_link->mapped());
}

// In a child with mounts of its own, as in a chroot where nobody mounted it.
TEST_F(FileFinderTest, FilesAreReadWithoutProc) {
  const std::string path = put(kProgram, "program");
  std::filesystem::create_symlink(path, folder_ / "link");
  const std::string link = folder_ / "link";
  constexpr int kCannotTry = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::umount2("/proc", MNT_DETACH) != 0 || ::access("/proc/self/fd", F_OK) == 0) {
      ::_exit(kCannotTry);
    }
    const auto whole = open_regular(link);
    if (!whole || whole->bytes().size() != std::filesystem::file_size(path)) ::_exit(1);
    // What has taken the place of the file since is not opened.
    const base::FileDescriptor place = base::locate(link);
    if (!base::open_located(place, link)) ::_exit(2);
    std::filesystem::rename(path, folder_ / "away");
    std::ofstream(path) << "another";
    errno = 0;
    ::_exit(base::open_located(place, link) || errno != ESTALE ? 3 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kCannotTry) GTEST_SKIP() << "this user may not change mounts";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Headers of a sparse file claim what the file does not hold: tables of 20 GiB, all of them empty rows.
TEST_F(FileFinderTest, ASparseElfFileDoesNoHarm) {
  const std::string path = put(kOther, "sparse");
  const uint64_t size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, uint64_t{30} << 30);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  file.seekg(static_cast<std::streamoff>(header.e_shoff));
  file.read(reinterpret_cast<char*>(sections.data()),
            static_cast<std::streamsize>(sections.size() * sizeof(Elf64_Shdr)));
  size_t changed = 0;
  for (Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_RELA && section.sh_type != SHT_DYNSYM) continue;
    section.sh_offset = (size + 4095) / 4096 * 4096;
    section.sh_size = uint64_t{20} << 30;
    ++changed;
  }
  EXPECT_GE(changed, 3u);
  file.seekp(static_cast<std::streamoff>(header.e_shoff));
  file.write(reinterpret_cast<const char*>(sections.data()),
             static_cast<std::streamsize>(sections.size() * sizeof(Elf64_Shdr)));
  file.close();
  FileFinder finder;
  Reason why{};
  const auto object = CodeObject::open(finder, {path, build_id_of(kOther), {}}, why);
  ASSERT_TRUE(object);
  EXPECT_FALSE(object->function_at(0x1000));
}

}  // namespace
}  // namespace tephra::symbols
