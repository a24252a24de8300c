#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"
#include "base/file.h"
#include "kernel/ring_buffer.h"
#include "model/profile.h"
#include "symbols/kept_files.h"

namespace tephra::collect {

// Opens the files that processes map as code, as soon as their mappings become known, so that they can be read at the
// end of the recording: when the process has ended, its file was deleted or replaced, or its container is gone.
//
// Nothing but a regular file is opened, and only the one that was mapped: the build id that the kernel told must be the
// file's, or where it has none device and inode. A path that a process supplies leads us to no FIFO and no device.
class FileKeeper {
 public:
  struct Settings {
    size_t most_files = 0;       // kept open
    uint64_t most_bytes = 0;     // size of one file
    size_t most_opens = 5000;    // that are tried in a second: a storm of new files must not hold up the recorder
    std::string proc = "/proc";  // a folder that plays the machine in tests
  };
  // As many files as the limit of open files leaves room for.
  static Settings usual_settings();

  explicit FileKeeper(Settings settings = usual_settings()) : settings_(std::move(settings)) {}

  // A record about processes: mappings are kept, forks remembered, all else ignored. What is known costs a look-up.
  void see(base::Bytes record);
  // Whether see() does anything with a record of this type.
  static bool wants(uint32_t type);
  // All records of a block.
  void see_all(base::Bytes records);

  const symbols::KeptFiles& files() const { return files_; }

  struct Totals {
    uint64_t kept = 0;
    uint64_t over_limit = 0;  // files for which no handle, or no time, was left
    uint64_t refused = 0;     // mapped files that could not be reached, or were others by then
  };
  Totals totals() const;

 private:
  // What an MMAP2 record says about a file that is mapped as code.
  struct Mapped {
    pid_t pid = 0;
    uint64_t start = 0;
    uint64_t end = 0;
    model::BuildId build_id;
    model::FileIdentity identity;  // only where there is no build id
    std::string_view path;
  };
  // A file that could not be opened, until another process maps it too.
  struct Failure {
    pid_t last_pid = 0;
    unsigned tries = 0;
  };
  using Key = std::pair<model::BuildId, symbols::KeptFiles::Place>;

  static bool parse(base::Bytes record, Mapped& mapped);
  static Key key_of(const Mapped& mapped);
  void keep(const Mapped& mapped);
  base::FileDescriptor open(const Mapped& mapped) const;
  base::FileDescriptor open_in_memory_of(const Mapped& mapped) const;
  base::FileDescriptor open_below_root_of(pid_t pid, const Mapped& mapped) const;
  base::FileDescriptor checked(base::FileDescriptor path_only, const Mapped& mapped) const;
  pid_t parent_of(pid_t pid) const;
  bool may_open_now();

  Settings settings_;
  symbols::KeptFiles files_;
  std::map<Key, Failure> failures_;
  std::set<Key> over_limit_;
  std::unordered_map<pid_t, pid_t> parents_;
  std::chrono::steady_clock::time_point second_begun_;
  size_t opens_ = 0;  // in this second
};

}  // namespace tephra::collect
