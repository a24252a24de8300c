#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "collect/learning_pace.h"
#include "collect/walked_processes.h"
#include "kernel/ring_buffer.h"
#include "kernel/stack_program.h"

namespace tephra::collect {

// Walks stacks inside the kernel: owns the programs and feeds them. What processes have mapped is looked up by a thread
// of its own, because making a large table takes longer than rings hold.
//
// A process is learnt when a sample meets it. Until then perf writes its samples, with a copy of the stack; so nothing
// is lost, and nobody waits.
class StackEngine {
 public:
  // A budget that holds the tables of a whole desktop several times over.
  static constexpr uint64_t kMostTableBytes = uint64_t{256} << 20;

  StackEngine(std::unique_ptr<kernel::StackProgram> program, WalkedProcesses::Sources sources,
              uint64_t most_table_bytes = kMostTableBytes);
  ~StackEngine();
  StackEngine(const StackEngine&) = delete;
  StackEngine& operator=(const StackEngine&) = delete;

  kernel::StackProgram& program() { return *program_; }
  // Readable when samples, or processes to be learnt, wait.
  int fd() const { return program_->fd(); }

  // Learns a process before it is sampled.
  void prepare(pid_t pid);
  // Waits until all that was asked for is done, but not longer than this.
  void wait_prepared(std::chrono::milliseconds most);

  // Records about processes, as they stood in a ring.
  void heard(const kernel::Pending& records);
  // Appends the samples that were walked since the last call: whole perf records, about in order of time.
  void take(std::string& samples);
  // To be called about once a second.
  void tick();

  // Learns nothing more. Comes back when what the thread is at is done; the totals are then exact.
  void finish();

  struct Totals {
    kernel::StackProgram::Totals program;
    WalkedProcesses::Totals processes;
  };
  // While tables are being loaded, as of the last call.
  Totals totals() const;

 private:
  enum class What { kWanted, kChanged, kBegun, kEnded };  // kBegun: it runs another program
  struct Notice {
    What what = What::kWanted;
    pid_t pid = 0;
    pid_t tid = 0;
  };

  void tell(std::vector<Notice> notices);
  void work();
  void follow(const std::vector<Notice>& notices);
  void learn(const Notice& notice);
  // Of those that have to wait: when the first may be learnt.
  std::optional<LearningPace::Clock::time_point> next_due() const;
  void learn_due();

  std::unique_ptr<kernel::StackProgram> program_;
  // Of the worker alone.
  WalkedProcesses processes_;
  LearningPace pace_;
  std::map<pid_t, Notice> waiting_;  // to be learnt when it is time

  mutable std::mutex lock_;
  std::condition_variable woken_;
  std::condition_variable idle_;
  std::vector<Notice> notices_;
  mutable Totals totals_;
  bool overflowed_ = false;  // notices were dropped: nothing known can be relied on
  bool sweep_ = false;
  bool busy_ = false;
  bool stop_ = false;
  uint64_t ticks_ = 0;
  std::thread worker_;
};

}  // namespace tephra::collect
