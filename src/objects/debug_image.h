#pragma once

#include "base/bytes.h"
#include "objects/section_image.h"

namespace tephra::objects {

// An ELF file whose debug sections can be read in place, for libdw. That is the file itself, unless its debug sections
// are compressed: then a file in memory with those of them that DebugInfo needs. (libelf would decompress all of them,
// one by one, writes to the headers it was given, and does not know zstd.)
class DebugImage {
 public:
  DebugImage() = default;
  // `elf_file` must outlive the image. The image is empty when the file cannot be read.
  explicit DebugImage(base::Bytes elf_file);

  base::Bytes bytes() const { return image_; }

 private:
  SectionImage made_;
  base::Bytes image_;
};

}  // namespace tephra::objects
