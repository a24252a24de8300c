#include "symbols/whole_names.h"

#include <gtest/gtest.h>

#include "model/profile_assembler.h"

namespace tephra::symbols {
namespace {

std::string whole(std::string_view name, std::string_view system_name) {
  model::ProfileAssembler assembler;
  const auto id =
      assembler.function({.name = assembler.string(name), .system_name = assembler.string(system_name), .named = true});
  const auto stack = assembler.stack({}, assembler.frame({.function = id}));
  assembler.sample({.stack = stack, .event = assembler.event({}), .thread = assembler.thread({})});
  model::Profile profile = std::move(assembler).finish();
  show_whole_names(profile);
  return std::string(profile.function_name(profile.stacks[profile.samples.stack[0]].frame));
}

TEST(WholeNames, ParametersComeBackFromTheOtherName) {
  EXPECT_EQ(whole("ns::leaf", "ns::leaf(int)"), "ns::leaf(int)");
  EXPECT_EQ(whole("g", "_Z1gv"), "g()");
}

TEST(WholeNames, OtherNamesStay) {
  EXPECT_EQ(whole("shown", "something else"), "shown");
  EXPECT_EQ(whole("shown", "_Z1gv"), "shown");
  EXPECT_EQ(whole("main", ""), "main");
}

}  // namespace
}  // namespace tephra::symbols
