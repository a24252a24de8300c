#include "collect/generated_tables.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace tephra::collect {
namespace {

constexpr size_t kPage = 4096;
constexpr char kTrampoline[] = "\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3";

class GeneratedTablesTest : public testing::Test {
 protected:
  GeneratedTablesTest()
      : memory_(static_cast<char*>(
            ::mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~GeneratedTablesTest() override { ::munmap(memory_, 3 * kPage); }

  CodeMapping page(size_t index) const {
    const auto start = reinterpret_cast<uint64_t>(memory_ + index * kPage);
    return {.start = start, .end = start + kPage};
  }
  void write_code(size_t index) { std::memcpy(memory_ + index * kPage, kTrampoline, sizeof kTrampoline - 1); }
  // All three, as one list.
  const unwind::FrameTable* list(size_t wanted) {
    const unwind::FrameTable* found = nullptr;
    for (size_t i = 0; i < 3; ++i) {
      const auto* table = tables_.find(::getpid(), ::getpid(), page(i));
      if (i == wanted) found = table;
    }
    return found;
  }

  char* memory_;
  GeneratedTables tables_;
};

TEST_F(GeneratedTablesTest, KnowsCodeByItsBytesAndRemembersIt) {
  write_code(1);
  ASSERT_NE(list(1), nullptr);
  EXPECT_EQ(list(0), nullptr);
  for (int i = 0; i < 20; ++i) EXPECT_NE(list(1), nullptr);
  // One look at what was known at once, a few at the others.
  EXPECT_LE(tables_.looks(), 9u);
}

TEST_F(GeneratedTablesTest, CodeIsOftenWrittenAfterItsMemoryWasMapped) {
  EXPECT_EQ(list(2), nullptr);
  write_code(2);
  EXPECT_NE(list(2), nullptr);
}

TEST_F(GeneratedTablesTest, AMappingOfAnotherSizeIsAnotherOne) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(list(0), nullptr);
  write_code(0);
  CodeMapping larger = page(0);
  larger.end += kPage;
  EXPECT_NE(tables_.find(::getpid(), ::getpid(), larger), nullptr);
}

TEST_F(GeneratedTablesTest, AProcessThatIsGoneHasNone) {
  EXPECT_EQ(tables_.find(0x3fffffff, 0x3fffffff, page(0)), nullptr);
}

}  // namespace
}  // namespace tephra::collect
