#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "model/profile.h"
#include "objects/debug_sources.h"
#include "objects/elf_file.h"

namespace tephra::symbols {

// A code object that was mapped somewhere, some time.
struct WantedFile {
  std::string path;
  model::BuildId build_id;  // empty: unknown, then `identity` and the path are all there is
  model::FileIdentity identity;
};

class KeptFiles;

// What arrived so far of a file that a server sends; `total` is 0 while unknown. An empty name: the request ended.
struct FetchProgress {
  std::string_view file;
  uint64_t got = 0;
  uint64_t total = 0;
};

// Where to look for files, beside the path itself.
struct FinderOptions {
  std::vector<std::string> debug_roots = {"/usr/lib/debug"};
  const KeptFiles* kept = nullptr;  // files held open since they ran; they come first
  // A folder that holds the recorded machine's files at their paths, and may hold a .build-id folder. With it, a file
  // of this machine is only used if its build id is the recorded one.
  std::string symfs;
  // The folders of PPROF_BINARY_PATH, searched by pprof's rules.
  std::vector<std::string> binary_folders;
  bool debuginfod = false;  // ask the servers of DEBUGINFOD_URLS
  double debuginfod_timeout_s = 30;
  std::function<void(const FetchProgress&)> progress;  // called by one thread at a time

  // What PPROF_BINARY_PATH, DEBUGINFOD_URLS and DEBUGINFOD_TIMEOUT ask for.
  static FinderOptions from_environment();
};

// Finds the files that ran and their debug files, by path, build id and links. The one place that decides whether a
// file may be used: one with another build id never is. Opens regular files only, and none of an implausible size.
// Threads may share it; answers are remembered.
class FileFinder {
 public:
  explicit FileFinder(FinderOptions options = {});
  ~FileFinder();

  struct Found {
    std::shared_ptr<const base::FileContent> content;  // null: not found
    std::string path;                                  // where it was found
    model::Reason why_not{};                           // when it was not found
    bool kept = false;                                 // one of FinderOptions::kept: it is the file that ran
    bool trusted = false;                              // written by this user or root: may be remembered by build id
  };
  // The file that ran.
  Found find_code(const WantedFile& file);
  // The same without asking a server for what was not asked for yet.
  Found find_code_at_hand(const WantedFile& file);
  // Its separate debug file; `elf` is the file that ran. Servers are asked only when that has no debug information.
  Found find_debug(const WantedFile& file, const objects::ElfFile& elf);
  // The debug file of a build id, whose code is not at hand.
  Found find_debug_of(const WantedFile& file);
  // The file that dwz moved common debug information to, for the debug information found at `path`.
  Found find_alternate(const std::string& path, const objects::ElfFile::AlternateLink& link);
  // The package of split debug information of a file, beside it.
  Found find_package(const std::string& path);
  // The file of one split unit of the debug information found at `path`. That it has the unit's id is for the reader to
  // check.
  Found find_split(const std::string& path, const objects::SplitUnitName& unit);

  // What was found and not used, and why; one line each, in the order it happened.
  std::vector<std::string> refusals() const;
  // For what readers refuse in files that were found here.
  void refuse(const std::string& path, const std::string& why);
  // When the recording had ended, in nanoseconds since 1970: a file that was changed later did not run, where no build
  // id tells. To be called before files are asked for.
  void recorded_until(int64_t time);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether two build ids are of the same file. Records pad short ones with zeros and cut long ones to 20 bytes.
bool same_build_id(base::Bytes a, base::Bytes b);

}  // namespace tephra::symbols
