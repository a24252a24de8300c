#pragma once

#include "base/bytes.h"
#include "objects/debug_sources.h"
#include "objects/section_image.h"

namespace tephra::objects {

// Joins the split units (-gsplit-dwarf, DWARF 5 and GNU's form of DWARF 4) of a program into an image that is read like
// that of any other program. `image` has uncompressed sections. Units that cannot be had keep what the program itself
// has of them, and are told to `sources`. The result is empty when there is nothing to join.
SectionImage join_split_units(base::Bytes image, DebugSources& sources);

}  // namespace tephra::objects
