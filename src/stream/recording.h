#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "model/build_id.h"
#include "model/profile.h"
#include "model/quality.h"
#include "stream/event_layout.h"
#include "stream/file_symbols.h"
#include "stream/jit_log.h"
#include "stream/recorded_walks.h"
#include "stream/recorder_facts.h"
#include "stream/sample_reading.h"

namespace tephra::stream {

// One measured event of a recording, and how its records are laid out.
struct RecordedEvent {
  std::string name;
  EventLayout layout;
  std::vector<uint64_t> ids;
  // What files tell that were written from profiles (see model::Event).
  std::string unit{};  // empty: as the layout says
  std::string counted{};
  bool uncounted = false;
  bool added = false;  // by a reading: no record is of it
};

struct FileBuildId {
  std::string path;
  model::BuildId build_id;
  bool kernel = false;
};

// An opened event file: what its header says and where its record bytes are. Nothing is decoded yet. The bytes are
// owned by the caller (base::FileContent), unless they had to be unpacked: then `unpacked` holds them.
struct Recording {
  std::vector<RecordedEvent> events;
  std::vector<base::Bytes> records;  // in file order; a record never spans two parts
  std::shared_ptr<const std::string> unpacked;
  std::vector<FileBuildId> build_ids;
  base::Bytes tracing_data;  // formats of tracepoints; empty when none were recorded
  model::RecordingFacts facts;
  std::optional<RecorderFacts> recorder;       // what tephra's recorder told about itself
  std::shared_ptr<const RecordedWalks> walks;  // stack copies that the recorder has walked; null: none
  std::shared_ptr<const JitLog> jit;           // names of generated code; null where the recorder stored none
  std::vector<std::shared_ptr<const SampleReading>>
      readings;                      // what samples mean beyond their records; see add_readings
  std::vector<FileSymbols> symbols;  // symbol tables of files that ran, as simpleperf stores them
  // It was written from a profile (see stream/converted_facts.h): weights of samples are counts of samples, and what
  // was missing is told and not to be judged from the records.
  bool converted = false;
  // simpleperf's call chains also lead through files that are interpreted, which are not mapped as code, and hold where
  // calls are rather than where they return to.
  bool interpreted_code = false;
  model::Quality quality;  // what the reader of the file found wrong
};

}  // namespace tephra::stream
