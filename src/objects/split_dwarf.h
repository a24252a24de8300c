#pragma once

#include "base/bytes.h"
#include "objects/debug_sources.h"
#include "objects/section_image.h"

namespace tephra::objects {

// A program whose split units are joined with it.
struct JoinedUnits {
  SectionImage image;  // empty when there is nothing to join
  bool loose = false;  // units are in files of their own, or missing; not all are in a package
};

// Joins the split units (-gsplit-dwarf, DWARF 5 and GNU's form of DWARF 4) of a program into an image that is read like
// that of any other program. `image` has uncompressed sections. Units that cannot be had keep what the program itself
// has of them, and are told to `sources`.
JoinedUnits join_split_units(base::Bytes image, DebugSources& sources);

}  // namespace tephra::objects
