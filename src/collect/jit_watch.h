#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "collect/features.h"
#include "collect/java_maps.h"
#include "collect/jit_file.h"
#include "collect/jit_sign.h"

namespace tephra::collect {

// Follows the files in which recorded processes name the code that they generate: perf-PID.map in the /tmp of the
// process, and jitdumps. Reads them as they grow and keeps what they say, with the time, for a section of the
// recording. Bounded in processes, bytes and work at a time.
class JitWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // `java`: let Java processes write their maps. `note` is told once of each kind of trouble.
  JitWatch(bool java, std::function<void(const std::string&)> note) : java_(java), note_(std::move(note)) {}

  void hear(const JitSign& sign);
  // Looks at the files when it is time to.
  base::Status look(Clock::time_point now);
  // When it wants to look next; nothing while nobody generates code.
  Clock::time_point next_look() const { return processes_.empty() ? Clock::time_point::max() : next_look_; }
  // At the end of the recording, while the processes may still run. Takes a few seconds at most, and no longer than
  // until `hurry` says so; what could not be read then is told.
  base::Status last_look(const std::function<bool()>& hurry);

  // The section with all that was read so far.
  Feature feature();

 private:
  struct Process {
    kernel::ProcessRoot root;
    int64_t not_before = 0;  // time of day
    uint64_t from = 0;       // moment
    bool ended = false;
    std::vector<JitFile> files;
  };

  Process* watch(const JitSign& sign);
  // There are too many processes that generate code.
  void leave_out(pid_t pid);
  void add_file(Process& process, stream::JitBatch::Kind kind, const std::string& path);
  void begin_program(const JitSign& sign);
  // What looking at several files came to.
  struct Looks {
    bool taken = false;
    bool more = false;
  };
  base::Result<Looks> look_at(pid_t pid, Process& process);
  base::Result<Looks> look_at_all();
  // Reads on until all is read that was there; not for longer than `may_go_on`.
  base::Status read_to_end(pid_t pid, Process& process, const std::function<bool()>& may_go_on);
  // What of a process's files was not read will be missed.
  base::Status tell_left_out(pid_t pid, Process& process);
  void tell_once(bool& told, const std::string& text);

  bool java_;
  std::function<void(const std::string&)> note_;
  std::map<pid_t, Process> processes_;
  std::unordered_map<pid_t, uint64_t> begun_;  // when a process began its program, where that was recorded
  std::unordered_set<pid_t> left_out_;         // that run
  JavaMaps java_maps_;
  stream::JitLogWriter log_;
  uint64_t bytes_ = 0;
  uint32_t next_source_ = 0;
  Clock::time_point next_look_;
  std::chrono::milliseconds pause_{0};
  bool told_processes_ = false;
  bool told_left_out_ = false;
  bool told_java_ = false;
};

}  // namespace tephra::collect
