#pragma once

#include "base/bytes.h"
#include "objects/debug_image.h"
#include "objects/debug_sources.h"
#include "objects/section_image.h"
#include "objects/split_dwarf.h"

namespace tephra::objects {

// The debug information of an ELF file as libdw can read it: sections decompressed, split units joined, and the file
// that dwz moved common parts to at its side. libdw opens no file itself: the paths in files are hostile.
class DebugFiles {
 public:
  // The bytes of the file, and those that `sources` gets, must outlive the object. Without sources other files are
  // taken to be missing.
  DebugFiles(base::Bytes elf_file, DebugSources* sources);

  // An ELF file in memory; empty when there is nothing to read.
  base::Bytes image() const { return image_; }
  // What dwz moved out: an ELF file in memory whenever `image` refers to one, though maybe one that holds nothing.
  base::Bytes alternate() const { return alternate_; }
  // Whether units are in files of their own, or are missing because such a file is.
  bool has_loose_parts() const { return joined_.loose; }

 private:
  DebugImage unpacked_;
  JoinedUnits joined_;
  DebugImage unpacked_alternate_;
  SectionImage nothing_;
  base::Bytes image_;
  base::Bytes alternate_;
};

}  // namespace tephra::objects
