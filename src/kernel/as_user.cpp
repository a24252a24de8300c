#include "kernel/as_user.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace tephra::kernel {
namespace {

// The calls themselves: the C library's functions change all threads of the process.
bool set_user(uid_t user) { return ::syscall(SYS_setresuid, -1, user, -1) == 0; }
bool set_group(gid_t group) { return ::syscall(SYS_setresgid, -1, group, -1) == 0; }
bool set_groups(const std::vector<gid_t>& groups) {
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

}  // namespace

AsUser::AsUser(uid_t user, gid_t group) : user_(::geteuid()), group_(::getegid()) {
  if (user_ != 0 || user == 0) return;
  // The kernel takes a process that changes its user for one with secrets, and keeps it from dumping core.
  dumpable_ = ::prctl(PR_GET_DUMPABLE);
  const int count = ::getgroups(0, nullptr);
  groups_.resize(static_cast<size_t>(count > 0 ? count : 0));
  acts_ = count >= 0 && ::getgroups(count, groups_.data()) == count;
  if (!acts_) return;
  changed_ = true;
  acts_ = set_groups({}) && set_group(group) && set_user(user);
  if (!acts_) restore();
}

AsUser::~AsUser() { restore(); }

void AsUser::restore() {
  if (!changed_) return;
  changed_ = false;
  // A thread that goes on with the rights of another would fail where nobody expects it.
  if (!set_user(user_) || !set_group(group_) || !set_groups(groups_)) std::abort();
  if (dumpable_ == 1) ::prctl(PR_SET_DUMPABLE, 1);
}

}  // namespace tephra::kernel
