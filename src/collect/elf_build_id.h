#pragma once

#include <string>

#include "base/bytes.h"
#include "model/build_id.h"

namespace tephra::collect {

// The build id in the notes of an ELF file, by a few small reads; empty when there is none or the file is not ELF.
model::BuildId build_id_of_file(int fd);
// The same for an ELF image in memory (the vdso).
model::BuildId build_id_of_image(base::Bytes image);
// The build id in a sequence of notes.
model::BuildId build_id_in_notes(base::Bytes notes);
// That of the running kernel, from /sys/kernel/notes.
model::BuildId kernel_build_id();

}  // namespace tephra::collect
