#pragma once

#include "base/bytes.h"
#include "objects/elf_file.h"
#include "objects/frame_pieces.h"

namespace tephra::objects {

// Whether this is the code that returns from a signal handler to what was interrupted.
bool is_signal_return(base::Bytes code, uint16_t machine);

// Adds rules for pieces of code that linkers and C libraries do not describe and that are known by what they are: stubs
// of the procedure linkage table, the code that returns from signal handlers, where a program begins.
void add_known_stubs(const ElfFile& elf, FramePieces& pieces);

}  // namespace tephra::objects
