#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "collect/collector.h"
#include "collect/off_cpu_settings.h"
#include "collect/sample_writer.h"
#include "collect/surroundings.h"
#include "collect/taken_stacks.h"
#include "kernel/off_cpu_program.h"

namespace tephra::collect {

// Waits of threads as samples of the event "offcpu-time": the period is the time in nanoseconds, the raw data says what
// kind of wait it was (abi/wait_record.h). A sample is one wait, or the sum of those of a thread at one place.
class OffCpuCollector : public Collector, private kernel::OffCpuProgram::Listener {
 public:
  static base::Result<std::unique_ptr<OffCpuCollector>> open(const OffCpuSettings& settings,
                                                             const Surroundings& surroundings);

  base::Status begin() override { return program_->begin(*this); }
  int fd() const override { return program_->fd(); }
  base::Status tick() override;
  base::Status stop() override;
  void take(std::string& records) override;
  std::vector<std::string> notes() const override;

  // Time and count of what was told, by state.
  struct Sum {
    uint64_t ns = 0;
    uint64_t count = 0;
  };
  struct Totals {
    std::array<Sum, TEPHRA_OFF_CPU_STATES> by_state{};
    Sum no_room;      // had no room in the kernel for a sum with its stack
    Sum stack_lost;   // whose stack found no room on its way
    Sum spread;       // whose stack was not taken, to keep the budget, and that were added to others
    Sum not_sampled;  // the same, where there were no others
    Sum waits() const;
  };
  const Totals& totals() const { return totals_; }

 private:
  struct KeyHash {
    size_t operator()(const tephra_wait_key& key) const;
  };
  struct KeySame {
    bool operator()(const tephra_wait_key& a, const tephra_wait_key& b) const;
  };
  // What becomes a sample.
  struct Wait {
    tephra_wait_key key{};
    tephra_wait_sum sum{};
    uint32_t cpu = 0;
  };

  OffCpuCollector(const OffCpuSettings& settings, const Surroundings& surroundings);

  void hear(const kernel::TakenStack& stack) override;
  void hear(const tephra_wait_told& wait) override;
  void hear(const tephra_waker_told& waker) override;
  void hear(const tephra_wait_key& key, const tephra_wait_sum& sum) override;
  void hear(const tephra_walk_wanted& wanted) override;

  // Makes samples of the sums so far. `last`: what has no stack by now will have none.
  void write_sums(bool last);
  void write_wait(const Wait& wait, bool last);
  void write_run_time(const Wait& wait);
  void write_bounds();
  void account_for(const tephra_wait_key& key, uint64_t ns);
  void keep_budget();
  void spread_not_sampled();
  std::string account_text() const;

  OffCpuSettings settings_;
  StackEngine* engine_;
  pid_t usual_pid_;  // whose time is told where nobody knows whose it was
  std::optional<SampleWriter> waits_;
  std::optional<SampleWriter> run_times_;
  std::optional<SampleWriter> wakers_;
  TakenStacks stacks_;
  std::unique_ptr<kernel::OffCpuProgram> program_;

  std::string records_;  // that were not taken yet
  std::unordered_map<tephra_wait_key, tephra_wait_sum, KeyHash, KeySame> sums_;
  std::vector<Wait> without_stack_;  // single waits whose stack has not come
  std::vector<tephra_waker_told> wakers_without_stack_;
  // Where all time is accounted for: what was told of each thread, and how long those at the end were watched.
  std::unordered_map<uint32_t, uint64_t> told_of_thread_;
  std::unordered_map<uint32_t, uint64_t> lived_;
  uint32_t first_pid_ = 0;  // whoever was told of first
  uint32_t first_tid_ = 0;
  Totals totals_;
  uint64_t ticks_ = 0;
  uint64_t stacks_refused_ = 0;
  // To keep the budget: as of the last tick, and of how many waits one has its stack taken.
  uint64_t last_tick_ns_ = 0;
  uint64_t last_switches_ = 0;
  uint32_t one_in_ = 1;
};

}  // namespace tephra::collect
