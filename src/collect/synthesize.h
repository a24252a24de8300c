#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"
#include "collect/features.h"
#include "kernel/procfs.h"
#include "model/build_id.h"

namespace tephra::collect {

// Makes the records that tell a reader what existed before the recording: the kernel, processes, their threads and
// executable mappings. Processes may vanish meanwhile and names may be any bytes.
class Synthesizer {
 public:
  struct Settings {
    uint64_t identifier = 0;  // the event id the records carry
    bool data_maps = false;   // files mapped without code are told too
    bool build_ids = true;    // mappings carry build ids; else device and inode
    uint64_t time = 0;        // since when it was so; 0: since before the recording
  };
  // Finished records go to `write` in blocks.
  Synthesizer(const Settings& settings, std::function<base::Status(base::Bytes)> write);

  // Called now and then while many processes are added.
  void between_processes(std::function<base::Status()> call) { between_ = std::move(call); }

  base::Status add_kernel();
  // A process with all its threads and mappings.
  base::Status add_process(pid_t pid);
  // One thread with the mappings of its process.
  base::Status add_thread(pid_t tid);
  base::Status add_all_processes();
  // The control groups there are, by the numbers that samples carry.
  base::Status add_cgroups();
  // A program about to exec, by the name it will have.
  void add_program(pid_t pid, pid_t parent, const std::string& comm);
  // Records the kernel dropped without saying so in the ring.
  void add_lost(uint64_t count, uint64_t time);
  base::Status flush();

  // The code objects that were met.
  const BuildIds& build_ids() const { return files_; }

 private:
  void put_record(uint32_t type, uint16_t misc, std::string_view body, pid_t pid, pid_t tid);
  void put_task(pid_t tid, const kernel::TaskStatus& task);
  void put_maps(pid_t pid);
  void put_map(pid_t pid, pid_t tid, const kernel::MemoryMap& map);
  model::BuildId identity(pid_t tid, const kernel::MemoryMap& map);
  base::Status flush_when_full();

  Settings settings_;
  std::function<base::Status(base::Bytes)> write_;
  std::function<base::Status()> between_;
  std::string pending_;
  BuildIds files_;
  std::map<std::pair<uint64_t, uint64_t>, model::BuildId> by_inode_;  // (device, inode)
  model::BuildId vdso_;
};

}  // namespace tephra::collect
