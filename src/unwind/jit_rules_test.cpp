#include "unwind/jit_rules.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/fixtures_for_tests.h"
#include "objects/jitdump.h"
#include "stream/jit_reader.h"

namespace tephra::unwind {
namespace {

// A dump of LLVM's linker of generated code: one piece of call-frame information for three functions, at an address of
// which it tells the lower half.
TEST(JitRules, OfADumpOfLlvm) {
  const std::string path = base::fixtures("jitdump/parca-dev-testdata/jitlink.dump");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no fixtures at " << path;
  const auto content = base::FileContent::open(path);
  ASSERT_TRUE(content);
  const auto header = objects::jitdump_header(content->bytes());
  ASSERT_TRUE(header);
  stream::JitBatch batch{.kind = stream::JitBatch::Kind::kJitdump, .pid = 1, .latest = UINT64_MAX};
  batch.content = content->bytes().subspan(header->size);
  stream::JitCode code;
  model::Quality quality;
  for (const auto& change : stream::read_jit_batches(std::span(&batch, 1), true, code, quality)) change.apply(code);
  code.seal();
  JitRules rules(Machine::kX86_64, code);
  const auto view = code.view(1, UINT64_MAX).value;
  for (const uint64_t function : {0x7f847acc8000, 0x7f847acc8010, 0x7f847acc8020}) {
    ASSERT_NE(code.find(view, function).function, nullptr);
    for (const uint64_t pc : {function, function + 5}) {
      const tephra_frame_rule* rule = rules.find(view, pc);
      ASSERT_NE(rule, nullptr) << std::hex << pc;
      EXPECT_EQ(rule->cfa, TEPHRA_CFA_SP);
      EXPECT_EQ(rule->cfa_offset, 8);
    }
    EXPECT_EQ(rules.find(view, function + 6), nullptr) << "padding behind it";
  }
  EXPECT_EQ(rules.find(0, 0x7f847acc8000), nullptr) << "no code is known";
}

}  // namespace
}  // namespace tephra::unwind
