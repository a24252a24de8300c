#include "views/calls_text.h"

#include <gtest/gtest.h>

#include "model/profile_assembler.h"

namespace tephra::views {
namespace {

class CallsText : public testing::Test {
 protected:
  void add(std::string_view event, std::string_view call, std::string_view function, uint64_t count, uint64_t value) {
    const auto name = assembler_.string(function);
    const auto frame =
        assembler_.frame({.address = function.size(), .function = assembler_.function({name, name, true})});
    model::ProfileAssembler::Sample sample{.stack = assembler_.stack({}, frame),
                                           .event = assembler_.event({assembler_.string(event), assembler_.string("")}),
                                           .thread = assembler_.thread({1, 1, assembler_.string("prog")})};
    sample.count = count;
    sample.value = value;
    if (!call.empty()) sample.labels = assembler_.labels({{assembler_.string("call"), assembler_.string(call), 0, {}}});
    assembler_.sample(sample);
  }

  model::ProfileAssembler assembler_;
};

TEST_F(CallsText, CountsAndTimesOfAPlaceAreOneRow) {
  add("syscall-count", "read", "load", 3, 3);
  add("syscall-time", "read", "load", 3, 900);
  add("syscall-count", "read", "load", 1, 1);
  add("syscall-count", "write", "load", 5, 5);
  add("syscall-time", "write", "load", 5, 50);
  add("cpu-clock", "", "load", 9, 99);
  const auto profile = std::move(assembler_).finish();
  const auto summary = analysis::call_summary(profile, 10);
  EXPECT_EQ(summary.count, 9u);
  EXPECT_EQ(summary.nanoseconds, 950u);
  ASSERT_EQ(summary.rows.size(), 2u);
  EXPECT_EQ(summary.rows[0].call, "write");
  EXPECT_EQ(summary.rows[1].count, 4u);
  EXPECT_EQ(summary.rows[1].nanoseconds, 900u);
  const std::string text = calls_text(summary, true);
  EXPECT_NE(text.find("225 ns  read"), std::string::npos) << text;
}

TEST_F(CallsText, WhatHasNoStackHasNoCall) {
  add("syscall-count", "", "evil\x1b[2J", 2, 2);
  const auto profile = std::move(assembler_).finish();
  const std::string text = calls_text(analysis::call_summary(profile, 10), true);
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_NE(text.find("  -  "), std::string::npos) << text;
}

}  // namespace
}  // namespace tephra::views
