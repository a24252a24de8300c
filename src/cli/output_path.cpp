#include "cli/output_path.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/file.h"
#include "base/program_path.h"

namespace tephra::cli {
namespace {

constexpr const char* kFix = "Choose another name with -o FILE.";

// A file that writing could take away. Devices and pipes stay.
std::optional<struct stat> stored_file(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  return info;
}

std::optional<struct stat> standard_input() {
  struct stat info {};
  if (::fstat(STDIN_FILENO, &info) != 0 || !S_ISREG(info.st_mode)) return {};
  return info;
}

bool same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

bool is_executable_elf(const std::string& path, const struct stat& info) {
  if ((info.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0) return false;
  const base::FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::array<char, SELFMAG> magic{};
  return fd && ::pread(fd.get(), magic.data(), magic.size(), 0) == SELFMAG &&
         std::equal(magic.begin(), magic.end(), ELFMAG);
}

}  // namespace

base::Status refuse_input(const std::string& output, const std::string& input) {
  if (output == "-") return {};
  const auto written = stored_file(output);
  const auto read = input == "-" ? standard_input() : stored_file(input);
  if (!written || !read || !same_file(*written, *read)) return {};
  return base::usage_error("cannot write", output, "it is the file that is read", kFix);
}

base::Status refuse_program(const std::string& output, std::span<const std::string> command) {
  if (output == "-") return {};
  const auto written = stored_file(output);
  if (!written) return {};
  const auto program = command.empty() ? std::nullopt : stored_file(base::find_program(command[0]));
  if (program && same_file(*written, *program)) {
    return base::usage_error("cannot write", output, "it is the program that is to be run", kFix);
  }
  if (!is_executable_elf(output, *written)) return {};
  return base::usage_error("cannot write", output, "it is a program, not a recording", kFix);
}

}  // namespace tephra::cli
