#include "collect/loaded_tables.h"

#include <gtest/gtest.h>

#include <vector>

#include "collect/stack_program_for_tests.h"
#include "unwind/generated_code.h"

namespace tephra::collect {
namespace {

using Table = std::shared_ptr<const unwind::FrameTable>;

struct MadeUp {
  std::vector<tephra_frame_block> blocks = std::vector<tephra_frame_block>(1);
  std::vector<tephra_frame_rule> rules = std::vector<tephra_frame_rule>(1);
  unwind::FrameTable table{blocks, rules, 1, 0};
};

Table made_up() {
  const auto owner = std::make_shared<MadeUp>();
  return {owner, &owner->table};
}

Table trampoline(std::string_view code) {
  return {std::shared_ptr<void>(), unwind::generated_code_table(base::as_bytes(code))};
}

// All of them have one row that looks the same, and differ in the rule.
TEST(LoadedTables, EveryKindOfTrampolineIsATableOfItsOwn) {
  FakeStackProgram program;
  LoadedTables tables(program, 1 << 20);
  const uint32_t by_stack = tables.take(trampoline("\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3"));
  const uint32_t by_pointer = tables.take(trampoline("\x55\x48\x89\xe5\xff\xd1\x5d\xc3"));
  EXPECT_NE(by_stack, 0u);
  EXPECT_NE(by_pointer, 0u);
  EXPECT_NE(by_stack, by_pointer);
  EXPECT_EQ(tables.take(trampoline("\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3")), by_stack);
}

TEST(LoadedTables, MakesRoomWhereTheKernelHasNoNumberLeft) {
  FakeStackProgram program;
  program.most_tables = 2;
  LoadedTables tables(program, 1 << 20);
  const uint32_t first = tables.take(made_up());
  const uint32_t second = tables.take(made_up());
  EXPECT_EQ(tables.take(made_up()), 0u) << "all are in use";
  EXPECT_EQ(tables.totals().refused, 1u);
  tables.give_back(first);
  EXPECT_NE(tables.take(made_up()), 0u);
  EXPECT_FALSE(program.tables.contains(first));
  EXPECT_TRUE(program.tables.contains(second));
  EXPECT_EQ(tables.totals().dropped, 1u);
  EXPECT_EQ(tables.totals().tables, 2u);
}

TEST(LoadedTables, HoldsATableUntilItIsDropped) {
  FakeStackProgram program;
  program.most_tables = 1;
  LoadedTables tables(program, 1 << 20);
  Table table = made_up();
  const std::weak_ptr<const unwind::FrameTable> watched = table;
  const uint32_t number = tables.take(table);
  table.reset();
  EXPECT_FALSE(watched.expired());
  tables.give_back(number);
  EXPECT_FALSE(watched.expired()) << "it may be used again";
  tables.take(made_up());
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace tephra::collect
