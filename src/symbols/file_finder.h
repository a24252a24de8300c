#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "model/profile.h"
#include "objects/elf_file.h"

namespace tephra::symbols {

// A code object that was mapped somewhere, some time.
struct WantedFile {
  std::string path;
  model::BuildId build_id;    // empty: unknown, then `identity` and the path are all there is
  model::FileIdentity identity;
};

class KeptFiles;

// Where to look for files, beside the path itself.
struct FinderOptions {
  std::vector<std::string> debug_roots = {"/usr/lib/debug"};
  const KeptFiles* kept = nullptr;  // files held open since they ran; they come first
};

// Finds the files that ran and their debug files, by path, build id and links. The one place that decides whether a
// file may be used: one with another build id never is. Threads may share it; answers are remembered.
class FileFinder {
 public:
  explicit FileFinder(FinderOptions options = {});
  ~FileFinder();

  struct Found {
    std::shared_ptr<const base::FileContent> content;  // null: not found
    std::string path;                                  // where it was found
    model::Reason why_not{};                           // when it was not found
  };
  // The file that ran.
  Found find_code(const WantedFile& file);
  // Its separate debug file; `elf` is the file that ran.
  Found find_debug(const WantedFile& file, const objects::ElfFile& elf);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether two build ids are of the same file. Records pad short ones with zeros and cut long ones to 20 bytes.
bool same_build_id(base::Bytes a, base::Bytes b);

}  // namespace tephra::symbols
