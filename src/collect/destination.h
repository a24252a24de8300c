#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "collect/collector.h"
#include "collect/copy_watch.h"
#include "collect/features.h"
#include "collect/record_summary.h"
#include "collect/ring_scan.h"
#include "collect/stack_engine.h"

namespace tephra::collect {

// What a destination asks of the recording for each of its files.
class FileSections {
 public:
  virtual ~FileSections() = default;
  // The sections of a file that begins, and those known only at its end.
  virtual std::vector<Feature> first() = 0;
  virtual std::vector<Feature> last() = 0;
  // A file is whole, and the recording goes on.
  virtual void finished(const std::string& path) = 0;
  // What is told of the file from now on is told of the next one.
  virtual void next_begins() = 0;
  // What the names of one file take at most where its size is limited.
  virtual uint64_t names_room() const = 0;
};

// Where records go: to files, one after the other (FileDestination), or into memory that keeps the newest of them
// (FlightDestination).
class Destination {
 public:
  using Clock = std::chrono::steady_clock;
  virtual ~Destination() = default;

  virtual RecordCounts& counts() = 0;
  // The code objects that were mapped meanwhile.
  virtual BuildIds& files() = 0;
  // Also takes the samples that `engine` has walked, and tells it about processes.
  virtual void walk_stacks_with(StackEngine* engine) = 0;
  // Also takes the samples that are collected.
  virtual void collect_from(std::vector<Collector*> /*collectors*/) {}
  // Also lets `watch` look at copies of stacks as they pass.
  virtual void watch_copies_with(CopyWatch* /*watch*/) {}
  // There are more events than when the file was begun.
  virtual base::Status tell_events() { return {}; }
  virtual bool is_pipe() const = 0;

  // Records of our own making, about processes.
  virtual base::Status keep(base::Bytes records) = 0;
  // To be called when all that exists was told, and then when the program has begun.
  virtual base::Status begin(FileSections& sections) = 0;
  virtual base::Status publish() = 0;

  // Takes what waits in the rings, in the midst of something else.
  virtual base::Status take_rings() = 0;
  // The same as a round of its own.
  virtual base::Status pass() = 0;
  // Samples were lost on a way that leaves no record about it.
  virtual base::Status tell_lost(uint64_t count) = 0;
  // To be called about once a second.
  virtual void tick(FileSections& sections) = 0;

  virtual void add_waits(std::vector<pollfd>& waits) const = 0;
  // When it wants to be served next.
  virtual Clock::time_point next_time() const = 0;
  // Someone wants a file now: a snapshot, or the next one. False: that is not how this recording is made.
  virtual bool request(const std::string& why) = 0;
  // Before records are taken: begins another file where the last one is full and samples wait. Only then, so that none is
  // left empty when nothing more comes. `ending`: the recording ends anyway.
  virtual base::Status make_room(FileSections&, bool /*ending*/) { return {}; }
  // Writes a file if it is time for it. `ending`: the recording ends anyway.
  virtual base::Status serve(FileSections& sections, bool ending) = 0;
  // All that was asked for is written.
  virtual bool done() const = 0;
  virtual bool reader_gone() = 0;

  // Records that were lost and writes that took too long, so far; nothing where they are not of the file.
  struct Losses {
    uint64_t lost = 0;
    uint64_t late_writes = 0;
  };
  virtual std::optional<Losses> losses() const = 0;

  // Lets no more samples come.
  virtual void stop_sampling() = 0;
  // Takes what is left in the rings then.
  virtual base::Status take_last() = 0;
  // Writes what is to be written at the end.
  virtual base::Status conclude(FileSections& sections) = 0;
  // The file that was written at the end; nothing where there is none.
  virtual std::optional<std::string> last_file() const = 0;
  // After a failed write: keeps what readers can use. What became of it, as a sentence.
  virtual std::string salvage(FileSections& sections) = 0;

  virtual void report(RecordSummary& summary) const = 0;
  virtual void report(Progress& progress) const = 0;
};

}  // namespace tephra::collect
