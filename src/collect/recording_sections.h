#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collect/copy_sizes.h"
#include "collect/destination.h"
#include "collect/file_account.h"
#include "collect/jit_watch.h"
#include "collect/recorded_events.h"
#include "collect/recorder.h"
#include "collect/stored_names.h"
#include "collect/work_waits.h"
#include "model/build_id.h"

namespace tephra::collect {

// The sections of the files of a recording, from the parts that know what is in them.
class RecordingSections : public FileSections {
 public:
  RecordingSections(const RecordOptions& options, RecordedEvents& recorded, JitWatch& jit, StoredNames& names,
                    const WorkWaits& waits)
      : options_(options), recorded_(recorded), jit_(jit), names_(names), waits_(waits) {}

  // Looks up what stays the same. An error where a tracepoint's format is not to be had.
  base::Status prepare(bool monotonic_clock);
  // Where the records go, once that is known.
  void set_destination(Destination* destination) { destination_ = destination; }
  // What is known of copies of stacks, where their size is ours to choose.
  void set_copies(const CopySizes* copies) { copies_ = copies; }

  std::vector<Feature> first() override;
  std::vector<Feature> last() override;
  void finished(const std::string& path) override { names_.begin(path); }
  void next_begins() override { account_.begin_next(totals()); }
  uint64_t names_room() const override { return names_.room(); }

 private:
  FileAccount::Totals totals() const;
  stream::RecorderFacts facts() const;

  const RecordOptions& options_;
  RecordedEvents& recorded_;
  JitWatch& jit_;
  StoredNames& names_;
  const WorkWaits& waits_;
  Destination* destination_ = nullptr;
  const CopySizes* copies_ = nullptr;
  FileAccount account_;
  model::BuildId kernel_id_;
  std::vector<Feature> tracing_formats_;
  bool monotonic_clock_ = false;
};

}  // namespace tephra::collect
