#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "collect/file_keeper.h"
#include "collect/name_embedder.h"
#include "collect/ring_set.h"
#include "kernel/workload.h"

namespace tephra::collect {

// The names of what was sampled, which recordings carry with them: holds the files open that are mapped meanwhile, and
// has names looked up and stored in each file that is finished.
class StoredNames {
 public:
  // `most_file_bytes`: the size limit of the recording.
  StoredNames(std::optional<uint64_t> most_file_bytes, Note note)
      : most_file_bytes_(most_file_bytes), note_(std::move(note)) {}

  // From here on files are opened as they are mapped. Without it nothing is stored.
  void keep_files() { mapped_files_.emplace(); }
  bool keeps() const { return mapped_files_.has_value(); }
  // Records about mappings and forks: one, or several.
  void see(base::Bytes record) { mapped_files_->see(record); }
  void see_all(base::Bytes records) {
    if (mapped_files_) mapped_files_->see_all(records);
  }

  // How much of a file with a size limit is left for them.
  uint64_t room() const;
  // Looks up the names of a finished file, beside the recording if that goes on.
  void begin(const std::string& path);
  // Takes note of what is done.
  void hear() { hear(std::chrono::milliseconds(0)); }
  // Waits for all that was begun. At the end nothing is missed meanwhile, and a signal ends it.
  void finish(kernel::SignalInbox& signals);

  struct Totals {
    uint64_t addresses = 0;  // that have a name now
    uint64_t bytes = 0;
    double cpu_seconds = 0;
  };
  const Totals& totals() const { return totals_; }

 private:
  void hear(std::chrono::milliseconds wait);
  void take(const NameEmbedder::Result& result);

  std::optional<uint64_t> most_file_bytes_;
  Note note_;
  std::optional<FileKeeper> mapped_files_;
  NameEmbedder embedder_;
  Totals totals_;
};

}  // namespace tephra::collect
