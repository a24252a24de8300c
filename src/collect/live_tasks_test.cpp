#include "collect/live_tasks.h"

#include <gtest/gtest.h>

namespace tephra::collect {
namespace {

TaskIds task(pid_t tid, uint64_t time, pid_t parent = 1) { return {tid, tid, parent, time}; }

std::vector<pid_t> tids(const LiveTasks& tasks) {
  std::vector<pid_t> found;
  for (const auto& each : tasks.all()) found.push_back(each.tid);
  return found;
}

void hear(LiveTasks& tasks, const std::vector<TaskIds>& born, const std::vector<TaskIds>& ended) {
  tasks.heard(born, ended);
}

TEST(LiveTasks, ThoseAttachedAndTheirChildrenInOrderOfBirth) {
  LiveTasks tasks;
  tasks.attached(50, 50);
  hear(tasks, {task(70, 20, 60), task(60, 10, 50)}, {});
  EXPECT_EQ(tids(tasks), (std::vector<pid_t>{50, 60, 70}));
  EXPECT_EQ(tasks.all()[2].parent, 60);
  EXPECT_EQ(tasks.all()[2].birth, 20u);
}

TEST(LiveTasks, WhoEndedIsGone) {
  LiveTasks tasks;
  tasks.attached(50, 50);
  hear(tasks, {task(60, 10), task(61, 10)}, {task(60, 15)});
  EXPECT_EQ(tids(tasks), (std::vector<pid_t>{50, 61}));
  hear(tasks, {}, {task(50, 20), task(61, 21)});
  EXPECT_EQ(tasks.size(), 0u);
}

TEST(LiveTasks, AnEndMayBeHeardBeforeItsBirth) {
  LiveTasks tasks;
  hear(tasks, {}, {task(60, 15)});
  hear(tasks, {task(60, 10)}, {});
  EXPECT_EQ(tasks.size(), 0u);
}

TEST(LiveTasks, ANumberThatIsUsedAgainIsAnotherTask) {
  LiveTasks tasks;
  hear(tasks, {task(60, 10), task(60, 20)}, {task(60, 15)});
  EXPECT_EQ(tids(tasks), std::vector<pid_t>{60});
  hear(tasks, {task(60, 40)}, {task(60, 30)});
  ASSERT_EQ(tids(tasks), std::vector<pid_t>{60});
  EXPECT_EQ(tasks.all()[0].birth, 40u);
  // In the other order, too.
  hear(tasks, {}, {task(60, 50)});
  EXPECT_EQ(tasks.size(), 0u);
}

TEST(LiveTasks, WhatCannotBeFoundIsForgotten) {
  LiveTasks tasks;
  tasks.attached(50, 50);
  tasks.forget(50);
  EXPECT_EQ(tasks.size(), 0u);
}

}  // namespace
}  // namespace tephra::collect
