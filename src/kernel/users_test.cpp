#include "kernel/users.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

namespace tephra::kernel {
namespace {

TEST(Users, AreNamesOrNumbers) {
  for (const char* text : {"root", "0"}) {
    const auto user = user_id(text);
    ASSERT_TRUE(user.ok()) << text;
    EXPECT_EQ(*user, 0u);
  }
  const auto nobody_knows = user_id("3999999999");
  ASSERT_TRUE(nobody_knows.ok());
  EXPECT_EQ(*nobody_knows, 3999999999u);
}

TEST(Users, ThatDoNotExistAreRefusedWithNearNames) {
  const auto typo = user_id("rooot");
  ASSERT_FALSE(typo.ok());
  EXPECT_EQ(typo.error().kind, base::Error::Kind::kUsage);
  EXPECT_NE(typo.error().message().find("Did you mean root?"), std::string::npos) << typo.error().message();
  for (const char* text : {"", "-1", "0x0", "1 ", "4294967295", "4294967296", "99999999999999999999"}) {
    EXPECT_FALSE(user_id(text).ok()) << text;
  }
}

TEST(Users, OwnTheirProcesses) {
  const auto mine = processes_of_user(::geteuid());
  EXPECT_TRUE(std::binary_search(mine.begin(), mine.end(), ::getpid()));
  EXPECT_TRUE(processes_of_user(3999999999u).empty());
}

}  // namespace
}  // namespace tephra::kernel
