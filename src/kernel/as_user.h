#pragma once

#include <sys/types.h>

#include <vector>

namespace tephra::kernel {

// While it lives, the calling thread has the rights of another user: its effective ids are those, and it is in no other
// group. Only root needs and can do that; for anyone else nothing changes.
class AsUser {
 public:
  AsUser(uid_t user, gid_t group);
  ~AsUser();
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;

  // Whether the thread has no more rights than that user.
  explicit operator bool() const { return acts_; }

 private:
  void restore();

  std::vector<gid_t> groups_;  // as they were
  uid_t user_ = 0;
  gid_t group_ = 0;
  int dumpable_ = 1;
  bool changed_ = false;
  bool acts_ = true;
};

}  // namespace tephra::kernel
