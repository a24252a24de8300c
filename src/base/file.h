#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace tephra::base {

// Owns a file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release();
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

// How much of one thing may be held in memory where its size is not known before: beyond what a profile may be worth,
// and below what the machine has.
size_t most_in_memory();

// The content of a file, mapped where the file can be mapped and read into memory where it cannot (a pipe, /proc).
// The bytes stay valid as long as the object lives, also when it is moved.
class FileContent {
 public:
  // Looks at the first MiB of what cannot be mapped and is longer than that. An error: no more is read.
  static constexpr size_t kJudgedBeginning = 1 << 20;
  using Judge = std::function<Status(Bytes beginning)>;

  // `path` may be "-" for standard input. Directories, missing and unreadable files are errors that say so. A FIFO
  // is read to its end; nothing else blocks. What cannot be mapped and holds more than most_in_memory() is an error.
  static Result<FileContent> open(const std::string& path, const Judge& judge = {});
  static Result<FileContent> from_descriptor(int fd, const std::string& name_for_errors, const Judge& judge = {});
  static FileContent from_string(std::string text);

  FileContent(FileContent&& other) noexcept;
  FileContent& operator=(FileContent&& other) noexcept;
  ~FileContent();

  Bytes bytes() const { return bytes_; }
  bool mapped() const { return mapping_ != nullptr; }
  // Tells the kernel that a part of a mapped file will not be read again soon; content is unchanged. Bytes that are
  // not of the mapped file are left alone.
  void forget(Bytes part) const;
  // Brings a part of a mapped file into memory, as far as that goes.
  void fetch(Bytes part) const;

 private:
  FileContent() = default;
  void advise(Bytes part, int advice) const;
  void* mapping_ = nullptr;
  size_t mapping_size_ = 0;
  std::string owned_;
  Bytes bytes_;
};

// A small text file such as those of /proc and /sys, read to its end whatever its stated size. Never blocks on a FIFO.
Result<std::string> read_small_file(const std::string& path, size_t limit = 16 << 20);

// Writes `text` so that the file is whole or absent: a temporary file beside it, then a rename. "-" is standard output;
// a device or a FIFO is written to as it is.
Status write_file(const std::string& path, std::string_view text);

// Writes all bytes to a descriptor, retrying short writes.
Status write_all(int fd, Bytes bytes, const std::string& name_for_errors);

// Makes the folder and its parents.
Status make_folder(const std::string& path);

}  // namespace tephra::base
