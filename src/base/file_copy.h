#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/result.h"

namespace tephra::base {

// A private copy of a regular file that others may cut or rewrite at any moment, which would kill or confuse a reader
// of a mapping. It is as large as the file, and made piece by piece: what nobody needed is zeros, and takes no memory.
// Each page is read once, so that bytes that were seen do not change. Threads may share it.
class FileCopy {
 public:
  // More than this is never read; the rest stays zeros.
  static constexpr uint64_t kMostRead = uint64_t{1} << 30;

  // `fd` must stay open as long as pieces are needed.
  static Result<FileCopy> of(int fd);
  FileCopy(FileCopy&&) noexcept;
  FileCopy& operator=(FileCopy&&) noexcept;
  ~FileCopy();

  // All of the file, to be looked at only where need() was called before.
  Bytes bytes() const;
  // Reads what is not there yet. What cannot be read, because the file was cut, is zeros.
  void need(uint64_t offset, uint64_t size) const;
  void need_all() const { need(0, UINT64_MAX); }
  uint64_t bytes_read() const;

 private:
  struct State;
  explicit FileCopy(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tephra::base
