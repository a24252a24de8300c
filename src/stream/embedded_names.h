#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "model/embedded_names.h"
#include "stream/recorded_walks.h"

namespace tephra::stream {

// The content of the feature section kFeatureTephraNames: what a recording needs to be read the same where the files
// that ran are not.
struct EmbeddedSection {
  model::EmbeddedNames names;
  RecordedWalks walks;
};

// The section's bytes: a header with a checksum, then blocks of numbers of variable length, compressed when they are large. Reasons are
// stored by their names, so that files outlive changes of the list. docs/embedding.md describes the layout.
base::Result<std::string> print_section(const EmbeddedSection& section);

// Reads a section. Blocks of other versions are skipped; a section that is damaged, which its checksum shows, is an error
// as a whole, since half of the names would look like all of them. It unpacks to at most 32 times its size, and what is
// read takes at most 16 times that.
base::Result<EmbeddedSection> parse_section(base::Bytes bytes);

}  // namespace tephra::stream
