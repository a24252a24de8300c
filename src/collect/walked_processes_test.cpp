#include "collect/walked_processes.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "collect/stack_program_for_tests.h"

namespace tephra::collect {
namespace {

// A table of so many blocks.
struct MadeUpTable {
  explicit MadeUpTable(size_t count) : blocks(count), rules(1) {
    table = {blocks, rules, count * TEPHRA_FRAME_BLOCK_ROWS, 0};
  }
  std::vector<tephra_frame_block> blocks;
  std::vector<tephra_frame_rule> rules;
  unwind::FrameTable table;
};

CodeMapping mapping(uint64_t start, const std::string& path) {
  return {start, start + 0x1000, 0x2000, CodeMapping::Kind::kFile, 8, 1, 77, path};
}

class WalkedProcessesTest : public testing::Test {
 protected:
  WalkedProcesses processes(uint64_t most_bytes = 1 << 20) {
    return WalkedProcesses(program, most_bytes,
                           {[this](pid_t pid, pid_t) -> std::optional<ProcessCode> {
                              const auto found = machine.find(pid);
                              return found == machine.end() ? std::nullopt : std::optional(found->second);
                            },
                            [this](pid_t, pid_t, const CodeMapping& each) -> WalkedProcesses::Answer {
                              ++asked;
                              const auto found = files.find(each.path);
                              if (found == files.end()) return {nullptr, each.kind == CodeMapping::Kind::kFile};
                              return {{std::shared_ptr<void>(), &found->second.table}, false};
                            },
                            [this](pid_t pid) { return machine.contains(pid); }});
  }

  FakeStackProgram program;
  std::map<pid_t, ProcessCode> machine;
  std::map<std::string, MadeUpTable> files;
  size_t asked = 0;  // for tables
};

TEST_F(WalkedProcessesTest, ListsMappingsWithTheirTables) {
  files.emplace("/bin/a", 2);
  machine[5] = {1, 2, {mapping(0x1000, "/bin/a"), mapping(0x5000, "/gone")}};
  auto all = processes();
  all.wanted(5, 5);
  ASSERT_EQ(program.processes[5].size(), 2u);
  EXPECT_EQ(program.processes[5][0].table, 1u);
  EXPECT_EQ(program.processes[5][0].file_offset, 0x2000u);
  EXPECT_EQ(program.processes[5][1].table, 0u);
  EXPECT_EQ(program.processes[5][1].flags, unsigned{TEPHRA_MAPPING_NO_FILE});
}

// There frame pointers are the convention, and no guess.
TEST_F(WalkedProcessesTest, TellsGeneratedCodeFromFiles) {
  machine[5] = {1, 2, {mapping(0x1000, "/bin/a"), mapping(0x5000, "")}};
  machine[5].mappings[1].kind = CodeMapping::Kind::kGenerated;
  auto all = processes();
  all.wanted(5, 5);
  ASSERT_EQ(program.processes[5].size(), 2u);
  EXPECT_EQ(program.processes[5][0].flags & TEPHRA_MAPPING_GENERATED, 0u);
  EXPECT_EQ(program.processes[5][1].flags, unsigned{TEPHRA_MAPPING_GENERATED});
}

TEST_F(WalkedProcessesTest, AnswersWhetherOrNotThereIsSomethingToTell) {
  machine[5] = {1, 2, {mapping(0x1000, "/bin/a")}};
  auto all = processes();
  all.wanted(5, 5);
  all.wanted(5, 5);
  all.wanted(6, 6);
  EXPECT_EQ(program.answered_for, (std::vector<pid_t>{5, 5, 6}));
}

TEST_F(WalkedProcessesTest, SharesTablesAndTellsOnlyWhatChanged) {
  files.emplace("/bin/a", 1);
  machine[5] = machine[6] = {1, 2, {mapping(0x1000, "/bin/a")}};
  auto all = processes();
  all.wanted(5, 5);
  all.wanted(6, 6);
  EXPECT_EQ(program.tables.size(), 1u);
  all.changed(5, 5);
  EXPECT_EQ(program.sets, 2u);
  machine[5].mappings.push_back(mapping(0x9000, "/bin/a"));
  all.changed(5, 5);
  EXPECT_EQ(program.processes[5].size(), 2u);
  all.changed(7, 7);
  EXPECT_FALSE(program.processes.contains(7));
}

// Looking for thousands of files at each change would take all the time.
TEST_F(WalkedProcessesTest, OfManyMappingsOnlyTheNewOnesAreLookedAt) {
  files.emplace("/bin/a", 1);
  files.emplace("/bin/b", 1);
  for (uint64_t i = 0; i < 5000; ++i) machine[5].mappings.push_back(mapping(0x100000 + i * 0x1000, "/bin/a"));
  machine[5].mappings.push_back(mapping(0x8000000, "/gone"));
  machine[5].start_stack = machine[5].start_code = 1;
  auto all = processes();
  all.wanted(5, 5);
  EXPECT_EQ(asked, 5001u);
  machine[5].mappings.erase(machine[5].mappings.begin() + 7);
  machine[5].mappings.insert(machine[5].mappings.begin(), mapping(0x1000, "/bin/b"));
  all.changed(5, 5);
  // The new one, and that whose file may be here by now.
  EXPECT_EQ(asked, 5003u);
  ASSERT_EQ(program.processes[5].size(), 5001u);
  EXPECT_EQ(program.processes[5][0].table, 2u);
  EXPECT_EQ(program.processes[5][1].table, 1u);
  EXPECT_EQ(program.processes[5][5000].flags, unsigned{TEPHRA_MAPPING_NO_FILE});
  // Another program: nothing is known of it.
  machine[5].start_stack = 2;
  all.changed(5, 5);
  EXPECT_EQ(asked, 5003u + 5001u);
  all.ended(5);
  EXPECT_FALSE(program.dangling);
  EXPECT_EQ(all.totals().tables.tables, 2u);
}

TEST_F(WalkedProcessesTest, AProcessThatIsGoneIsNotKnown) {
  auto all = processes();
  all.wanted(9, 9);
  EXPECT_TRUE(program.processes.empty());
  machine[9] = {1, 2, {mapping(0x1000, "/x")}};
  all.wanted(9, 9);
  EXPECT_TRUE(program.processes.contains(9));
  machine.erase(9);
  all.changed(9, 9);
  EXPECT_TRUE(program.processes.empty());
}

TEST_F(WalkedProcessesTest, DropsTheTableUnusedForLongest) {
  const auto bytes = sizeof(tephra_frame_block) + sizeof(tephra_frame_rule);
  auto all = processes(2 * bytes);
  for (const pid_t pid : {1, 2, 3}) {
    const std::string path = "/" + std::to_string(pid);
    files.emplace(path, 1);
    machine[pid] = {1, 2, {mapping(0x1000, path)}};
  }
  all.wanted(1, 1);
  all.wanted(2, 2);
  all.ended(1);
  all.ended(2);
  all.wanted(3, 3);
  EXPECT_EQ(program.tables.size(), 2u);
  EXPECT_FALSE(program.tables.contains(1));
  EXPECT_EQ(all.totals().tables.dropped, 1u);
  EXPECT_FALSE(program.dangling);
}

TEST_F(WalkedProcessesTest, LeavesOutWhatThereIsNoRoomForAndTriesAgain) {
  const auto bytes = sizeof(tephra_frame_block) + sizeof(tephra_frame_rule);
  auto all = processes(bytes);
  files.emplace("/a", 1);
  files.emplace("/b", 1);
  machine[1] = {1, 2, {mapping(0x1000, "/a")}};
  machine[2] = {1, 2, {mapping(0x1000, "/b"), mapping(0x8000, "/none")}};
  all.wanted(1, 1);
  all.wanted(2, 2);
  ASSERT_EQ(program.processes[2].size(), 2u);
  EXPECT_EQ(program.processes[2][0].table, 0u);
  EXPECT_EQ(program.processes[2][0].flags, unsigned{TEPHRA_MAPPING_NO_ROOM});
  EXPECT_GT(all.totals().tables.refused, 0u);
  all.ended(1);
  all.wanted(2, 2);
  EXPECT_NE(program.processes[2][0].table, 0u);
  EXPECT_EQ(program.processes[2][0].flags, 0u);
}

TEST_F(WalkedProcessesTest, ForgetsTheOldestProcessForANewOne) {
  program.most_processes = 2;
  auto all = processes();
  for (const pid_t pid : {1, 2, 3}) {
    machine[pid] = {1, 2, {mapping(0x1000, "/x")}};
    all.wanted(pid, pid);
  }
  EXPECT_FALSE(program.processes.contains(1));
  EXPECT_TRUE(program.processes.contains(2));
  EXPECT_TRUE(program.processes.contains(3));
}

TEST_F(WalkedProcessesTest, ForgetsWhatIsGone) {
  auto all = processes();
  machine[1] = machine[2] = {1, 2, {mapping(0x1000, "/x")}};
  all.wanted(1, 1);
  all.wanted(2, 2);
  machine.erase(1);
  all.forget_vanished();
  EXPECT_EQ(program.processes.size(), 1u);
  all.forget_all();
  EXPECT_TRUE(program.processes.empty());
}

}  // namespace
}  // namespace tephra::collect
