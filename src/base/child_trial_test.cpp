#include "base/child_trial.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace tephra::base {
namespace {

TEST(ChildTrialTest, WhatEndsWellComesThrough) {
  int here = 1;
  EXPECT_TRUE(comes_through([&] { here = 2; }));
  EXPECT_EQ(here, 1);
}

TEST(ChildTrialTest, SignalsAndOtherEndsDoNot) {
  EXPECT_FALSE(comes_through([] { ::raise(SIGKILL); }));
  EXPECT_FALSE(comes_through([] { ::raise(SIGSEGV); }));
  EXPECT_FALSE(comes_through([] { ::_exit(3); }));
}

}  // namespace
}  // namespace tephra::base
