#include "collect/file_keeper.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "collect/elf_build_id.h"
#include "stream/put.h"

namespace tephra::collect {
namespace {

using stream::put;

constexpr uint16_t kMiscBuildId = 1 << 14;

struct TestMap {
  pid_t pid = 1;
  std::string path;
  model::BuildId build_id;
  uint64_t inode = 0;
  uint32_t protection = PROT_READ | PROT_EXEC;
};

std::string mmap2(const TestMap& map) {
  std::string body;
  put(body, map.pid);
  put(body, map.pid);
  put(body, uint64_t{0x1000});
  put(body, uint64_t{0x2000});
  put(body, uint64_t{0});
  if (!map.build_id.empty()) {
    put(body, static_cast<uint32_t>(map.build_id.bytes().size()));
    std::string id(base::as_text(map.build_id.bytes()));
    id.resize(20);
    body += id;
  } else {
    put(body, uint32_t{8});
    put(body, uint32_t{1});
    put(body, map.inode);
    put(body, uint64_t{0});
  }
  put(body, map.protection);
  put(body, uint32_t{MAP_PRIVATE});
  body += map.path;
  body.append(8 - map.path.size() % 8, '\0');
  perf_event_header header{};
  header.type = PERF_RECORD_MMAP2;
  header.misc = map.build_id.empty() ? 0 : kMiscBuildId;
  header.size = static_cast<uint16_t>(sizeof header + body.size());
  std::string record;
  put(record, header);
  return record + body;
}

std::string fork_record(pid_t child, pid_t parent) {
  perf_event_header header{};
  header.type = PERF_RECORD_FORK;
  header.size = sizeof header + 24;
  std::string record;
  put(record, header);
  for (const pid_t id : {child, parent, child, parent}) put(record, id);
  put(record, uint64_t{0});
  return record;
}

model::BuildId own_build_id() {
  const base::FileDescriptor fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  return build_id_of_file(fd.get());
}

uint64_t inode_of(const std::string& path) {
  struct stat info {};
  ::stat(path.c_str(), &info);
  return info.st_ino;
}

// A folder that plays /proc, and one with files.
struct FileKeeperTest : testing::Test {
  void SetUp() override {
    folder_ = testing::TempDir() + "file_keeper_test";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ + "/proc");
    std::filesystem::create_directories(folder_ + "/files");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  FileKeeper keeper(size_t most = 100, uint64_t bytes = 1 << 30) {
    return FileKeeper({.most_files = most, .most_bytes = bytes, .proc = folder_ + "/proc"});
  }
  std::string file(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/files/" + name;
    EXPECT_TRUE(base::write_file(path, text));
    return path;
  }
  // A process whose root is `root`.
  void process(pid_t pid, const std::string& root) {
    std::filesystem::create_directories(folder_ + "/proc/" + std::to_string(pid));
    std::filesystem::create_directory_symlink(root, folder_ + "/proc/" + std::to_string(pid) + "/root");
  }

  std::string folder_;
};

void see(FileKeeper& keeper, const std::string& record) { keeper.see(base::as_bytes(record)); }

TEST_F(FileKeeperTest, KeepsTheFileWithTheBuildId) {
  const model::BuildId id = own_build_id();
  if (id.empty()) GTEST_SKIP() << "this program has no build id";
  const std::string path = std::filesystem::read_symlink("/proc/self/exe");
  FileKeeper keeper = this->keeper();
  see(keeper, mmap2({.path = path, .build_id = id}));
  EXPECT_TRUE(keeper.files().contains(id));
  EXPECT_TRUE(keeper.files().open(id, {}));
  EXPECT_EQ(keeper.totals().kept, 1u);
}

TEST_F(FileKeeperTest, RefusesAnotherFile) {
  const model::BuildId id = own_build_id();
  if (id.empty()) GTEST_SKIP() << "this program has no build id";
  FileKeeper keeper = this->keeper();
  see(keeper, mmap2({.path = file("text", "no code"), .build_id = id}));
  see(keeper, mmap2({.path = "/no/such/file", .build_id = id}));
  EXPECT_FALSE(keeper.files().contains(id));
  EXPECT_EQ(keeper.totals().refused, 1u);
}

TEST_F(FileKeeperTest, WithoutBuildIdTheInodeDecidesAndTheContentMustStay) {
  const std::string path = file("plain", "code");
  const model::FileIdentity identity{uint64_t{8} << 32 | 1, inode_of(path), 0};
  FileKeeper keeper = this->keeper();
  see(keeper, mmap2({.path = path, .inode = identity.inode + 1}));
  EXPECT_EQ(keeper.totals().kept, 0u);
  see(keeper, mmap2({.path = path, .inode = identity.inode}));
  ASSERT_TRUE(keeper.files().contains(identity));
  ::unlink(path.c_str());
  const auto content = keeper.files().open({}, identity);
  ASSERT_TRUE(content);
  EXPECT_EQ(base::as_text(content->bytes()), "code");
}

TEST_F(FileKeeperTest, AFileThatWasWrittenToIsNotTheOneThatRan) {
  const std::string path = file("plain", "code");
  const model::FileIdentity identity{uint64_t{8} << 32 | 1, inode_of(path), 0};
  FileKeeper keeper = this->keeper();
  see(keeper, mmap2({.path = path, .inode = identity.inode}));
  const base::FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_APPEND));
  ASSERT_TRUE(base::write_all(fd.get(), base::as_bytes("more"), path));
  EXPECT_FALSE(keeper.files().open({}, identity));
}

TEST_F(FileKeeperTest, OpensNothingButFilesOfUsualSize) {
  const std::string fifo = folder_ + "/files/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::string huge = file("huge", "x");
  ASSERT_EQ(::truncate(huge.c_str(), off_t{100} << 30), 0);
  FileKeeper keeper = this->keeper();
  for (const std::string& path : {fifo, huge, std::string("/dev/zero"), folder_}) {
    see(keeper, mmap2({.path = path, .inode = inode_of(path)}));
  }
  EXPECT_EQ(keeper.totals().kept, 0u);
}

TEST_F(FileKeeperTest, LooksWhereTheProcessLooked) {
  std::filesystem::create_directories(folder_ + "/world/bin");
  ASSERT_TRUE(base::write_file(folder_ + "/world/bin/app", "inside"));
  process(7, folder_ + "/world");
  const uint64_t inode = inode_of(folder_ + "/world/bin/app");
  FileKeeper keeper = this->keeper();
  see(keeper, mmap2({.pid = 7, .path = "/bin/app", .inode = inode}));
  EXPECT_EQ(keeper.totals().kept, 1u);
}

TEST_F(FileKeeperTest, AProcessThatIsGoneSawWhatItsParentSees) {
  std::filesystem::create_directories(folder_ + "/world/bin");
  ASSERT_TRUE(base::write_file(folder_ + "/world/bin/app", "inside"));
  process(7, folder_ + "/world");
  const uint64_t inode = inode_of(folder_ + "/world/bin/app");
  FileKeeper keeper = this->keeper();
  see(keeper, fork_record(1'000'007, 7));
  see(keeper, fork_record(1'000'008, 1'000'007));
  see(keeper, mmap2({.pid = 1'000'008, .path = "/bin/app", .inode = inode}));
  EXPECT_EQ(keeper.totals().kept, 1u);
}

TEST_F(FileKeeperTest, NoLinkLeadsOutOfTheRoot) {
  std::filesystem::create_directories(folder_ + "/world/bin");
  const std::string outside = file("outside", "secret");
  std::filesystem::create_symlink(outside, folder_ + "/world/bin/app");
  process(7, folder_ + "/world");
  FileKeeper keeper = this->keeper();
  see(keeper, mmap2({.pid = 7, .path = "/bin/app", .inode = inode_of(outside)}));
  EXPECT_EQ(keeper.totals().kept, 0u);
}

TEST_F(FileKeeperTest, CountsWhatIsBeyondTheLimit) {
  FileKeeper keeper = this->keeper(1);
  for (const char* name : {"one", "two", "three"}) {
    const std::string path = file(name, name);
    for (int i = 0; i < 3; ++i) see(keeper, mmap2({.path = path, .inode = inode_of(path)}));
  }
  EXPECT_EQ(keeper.totals().kept, 1u);
  EXPECT_EQ(keeper.totals().over_limit, 2u);
}

TEST_F(FileKeeperTest, AStormOfNewFilesIsLeftAlone) {
  FileKeeper keeper({.most_files = 100, .most_bytes = 1 << 20, .most_opens = 2, .proc = folder_ + "/proc"});
  for (int i = 0; i < 20; ++i) {
    const std::string path = file("storm" + std::to_string(i), "x");
    see(keeper, mmap2({.path = path, .inode = inode_of(path)}));
  }
  // A slow machine may have begun another second.
  EXPECT_GE(keeper.totals().kept, 2u);
  EXPECT_EQ(keeper.totals().kept + keeper.totals().over_limit, 20u);
}

TEST_F(FileKeeperTest, DataAndNamelessMemoryAreNotKept) {
  const std::string path = file("data", "data");
  FileKeeper keeper = this->keeper();
  see(keeper, mmap2({.path = path, .inode = inode_of(path), .protection = PROT_READ}));
  for (const char* name : {"[vdso]", "//anon", "", "[heap]"}) see(keeper, mmap2({.path = name, .inode = 5}));
  EXPECT_EQ(keeper.totals().kept, 0u);
  EXPECT_EQ(keeper.totals().refused, 0u);
}

TEST_F(FileKeeperTest, BrokenRecordsAreIgnored) {
  const std::string path = file("plain", "code");
  const std::string whole = mmap2({.path = path, .inode = inode_of(path)});
  FileKeeper keeper = this->keeper();
  for (size_t size = 0; size < 72; ++size) see(keeper, whole.substr(0, size));
  EXPECT_EQ(keeper.totals().kept, 0u);
}

}  // namespace
}  // namespace tephra::collect
