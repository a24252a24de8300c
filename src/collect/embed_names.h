#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "symbols/kept_files.h"

namespace tephra::collect {

struct EmbedSettings {
  bool inlines = true;
  double inline_seconds = 5;           // then no more inlined functions and lines are looked up
  std::optional<uint64_t> most_bytes;  // of the section
};

struct Embedded {
  uint64_t addresses = 0;  // that have an answer in the section
  uint64_t unknown = 0;    // of them, those without a name
  uint64_t walks = 0;      // stack copies whose addresses are in the section
  uint64_t bytes = 0;      // of the section; 0: it was left out
  bool inlines_cut = false;
};

// Looks up the names of all that the finished recording at `path` sampled, walks its stack copies, and stores both in
// the recording, in the section that its writer left empty (kFeatureTephraNames). Files that are kept open come before
// those of the same name. The recording is whole at any moment meanwhile: the section's bytes are appended before the
// table points at them.
base::Result<Embedded> embed_names(const std::string& path, const symbols::KeptFiles& files,
                                   const EmbedSettings& settings);

}  // namespace tephra::collect
