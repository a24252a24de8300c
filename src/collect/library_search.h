#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "objects/dynamic_section.h"

namespace tephra::collect {

// Where the loader would find libraries, as far as that can be told without it: the folders that the asking file names,
// those of LD_LIBRARY_PATH, those of /etc/ld.so.conf, and the usual ones. The loader's cache is not read.
class LibrarySearch {
 public:
  LibrarySearch();

  // Paths at which `name` may be, the likeliest first, for the file at `asking` with this dynamic section.
  // `program_rpath` is the program's own, already without $ORIGIN: its libraries are looked for there, too.
  std::vector<std::string> candidates(std::string_view name, const std::string& asking,
                                      const objects::DynamicSection& section,
                                      const std::vector<std::string>& program_rpath) const;

 private:
  std::vector<std::string> before_;  // LD_LIBRARY_PATH
  std::vector<std::string> usual_;
};

// The folders of a list such as "$ORIGIN/../lib:/opt/lib", of the file at `asking`.
std::vector<std::string> search_folders(std::string_view list, const std::string& asking);

// The folders that a file in the format of /etc/ld.so.conf lists, with those of the files that it includes.
std::vector<std::string> configured_folders(const std::string& path);

}  // namespace tephra::collect
