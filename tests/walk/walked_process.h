#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "kernel/ring_buffer.h"
#include "kernel/stack_program.h"

namespace tephra::walk {

// What a child process tells of its own stack: return addresses as libgcc's unwinder sees them, innermost first.
struct OwnStack {
  static constexpr int kMost = 4096;
  std::atomic<int> ready;
  std::atomic<int> stop;
  int count;
  void* frames[kMost];
  uint64_t notes[8];
  int tid;
};

// A child that runs `work`, which fills in the OwnStack, says that it is ready and goes on until it is killed.
class Child {
 public:
  explicit Child(const std::function<void(OwnStack&)>& work);
  ~Child();
  Child(const Child&) = delete;

  pid_t pid() const { return pid_; }
  OwnStack& stack() const { return *stack_; }
  void wait_until_ready() const;

 private:
  pid_t pid_ = 0;
  OwnStack* stack_ = nullptr;
};

// Notes the stack of the caller, its return addresses from the caller's own on.
void note_stack(OwnStack& stack);

// Gives a process's mappings to a program, with rows from libdw for every file.
class Teller {
 public:
  explicit Teller(kernel::StackProgram& program) : program_(program) {}
  base::Status tell(pid_t pid);
  // Only the program itself, no library.
  base::Status tell_first_mapping(pid_t pid);
  // As if there were no room for the rows of any but the first mapping.
  base::Status tell_without_room(pid_t pid);
  base::Result<uint32_t> table_of(const std::string& path);
  const std::vector<tephra_walk_mapping>& last_mappings() const { return last_; }
  const std::map<std::string, uint32_t>& tables() const { return tables_; }

 private:
  base::Status tell(pid_t pid, size_t most, size_t with_rows);
  kernel::StackProgram& program_;
  std::map<std::string, uint32_t> tables_;
  std::vector<tephra_walk_mapping> last_;
};

// A sample record, taken apart.
struct Sample {
  uint16_t misc = 0;
  uint64_t identifier = 0;
  uint64_t ip = 0;
  pid_t pid = 0;
  pid_t tid = 0;
  uint64_t time = 0;
  uint64_t address = 0;
  uint32_t cpu = 0;
  uint64_t period = 0;
  std::vector<uint64_t> kernel;
  std::vector<uint64_t> user;
  bool has_kernel_mark = false;
  bool has_user_mark = false;
  uint64_t register_abi = 0;
  uint64_t stack_bytes = 0;  // as copied

  int end() const;
  bool caller_guessed() const;
};
std::vector<Sample> parse_samples(base::Bytes bytes, bool with_address = false, bool with_period = true);

// A cpu-clock event (or another software event) on a process, with a ring for what perf writes itself.
class Sampler {
 public:
  struct Options {
    uint64_t config = 0;  // PERF_COUNT_SW_CPU_CLOCK
    uint64_t frequency = 999;
    uint64_t period = 0;  // in the place of the frequency
    bool inherit = false;
    bool address = false;
    uint32_t stack_copy = 1024;
    uint64_t extra_sample_type = 0;
  };
  Sampler(pid_t pid, const Options& options);

  int fd() const { return event_.get(); }
  bool open() const { return static_cast<bool>(event_); }
  void enable() const;
  void disable() const;
  // The samples that perf wrote by itself since the last call.
  std::vector<Sample> raw();

 private:
  Options options_;
  base::FileDescriptor event_;
  kernel::RingBuffer ring_;
};

// Everything that a program has for us now.
struct Taken {
  std::vector<Sample> samples;
  std::vector<tephra_walk_wanted> wanted;
};
Taken take(kernel::StackProgram& program, bool with_address = false);
// Takes until there are so many samples, or for 20 seconds.
Taken take_until(kernel::StackProgram& program, size_t samples);

}  // namespace tephra::walk
