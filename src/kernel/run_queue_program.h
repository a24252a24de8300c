#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "abi/run_queue_wait.h"
#include "base/result.h"

namespace tephra::kernel {

// Watches in the scheduler how long threads that are ready to run wait for a CPU.
class RunQueueProgram {
 public:
  struct Settings {
    std::chrono::nanoseconds threshold{10'000'000};  // shorter waits are not told
    std::chrono::nanoseconds quiet{0};               // after one that was told, the next are only counted for so long
    bool table = false;  // the slower way, for kernels that do not add up waits themselves; otherwise chosen by itself
  };
  static base::Result<std::unique_ptr<RunQueueProgram>> start(const Settings& settings);
  virtual ~RunQueueProgram() = default;

  // Readable when waits were told.
  virtual int fd() const = 0;
  // Those since the last call, oldest first.
  virtual std::vector<tephra_run_queue_wait> take() = 0;
  // Waits above the threshold that were not told: in the quiet time, and because the ring was full.
  virtual uint64_t not_told() const = 0;
  // Whether it is the slower way.
  virtual bool uses_table() const = 0;
};

}  // namespace tephra::kernel
