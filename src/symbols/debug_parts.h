#pragma once

#include <memory>
#include <string>
#include <vector>

#include "objects/debug_sources.h"
#include "objects/elf_file.h"
#include "symbols/file_finder.h"

namespace tephra::symbols {

// The other files that one file's debug information is spread over, opened as they are asked for and kept open. One
// thread at a time.
class DebugParts : public objects::DebugSources {
 public:
  // `elf` has the debug information, and was read from `path`; `code_path` is that of the code, which may be another.
  // `finder` and the bytes of `elf` must outlive the parts.
  DebugParts(FileFinder& finder, const objects::ElfFile& elf, std::string path, std::string code_path);

  base::Bytes alternate() override;
  base::Bytes package() override;
  base::Bytes split(const objects::SplitUnitName& unit) override;
  void refuse(const objects::SplitUnitName& unit, const std::string& why) override;

 private:
  base::Bytes keep(const FileFinder::Found& found);

  FileFinder& finder_;
  const objects::ElfFile& elf_;
  std::string path_;
  std::string code_path_;
  std::vector<std::shared_ptr<const base::FileContent>> kept_;
};

}  // namespace tephra::symbols
