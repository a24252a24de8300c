#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "kernel/stack_program.h"

namespace tephra::collect {

// Remembers what it was told, and gives out what a test puts in.
class FakeStackProgram : public kernel::StackProgram {
 public:
  base::Status attach(int, uint64_t identifier, bool, bool, bool) override {
    attached.push_back(identifier);
    return {};
  }
  base::Result<uint32_t> add_table(std::span<const tephra_frame_block> blocks,
                                   std::span<const tephra_frame_rule>) override {
    if (refuse_tables || tables.size() >= most_tables) return base::failed("no room");
    tables.emplace(next_table, blocks.size());
    return next_table++;
  }
  void remove_table(uint32_t table) override {
    for (const auto& [pid, mappings] : processes) {
      for (const auto& mapping : mappings) dangling = dangling || mapping.table == table;
    }
    tables.erase(table);
  }
  base::Status set_process(pid_t pid, uint64_t, uint64_t, std::span<const tephra_walk_mapping> mappings) override {
    ++sets;
    const bool known = processes.contains(pid);
    if (!known && processes.size() >= most_processes) return base::failed("no room");
    processes[pid].assign(mappings.begin(), mappings.end());
    return {};
  }
  void forget_process(pid_t pid) override { processes.erase(pid); }
  void answered(pid_t pid) override { answered_for.push_back(pid); }
  Maps maps() const override { return {}; }
  int fd() const override { return -1; }
  void consume(const std::function<void(base::Bytes)>& on_samples,
               const std::function<void(const tephra_walk_wanted&)>& on_wanted) override {
    if (!samples.empty()) on_samples(base::as_bytes(samples));
    samples.clear();
    for (const auto& each : wanted) on_wanted(each);
    wanted.clear();
  }
  Totals totals() const override { return counted; }

  std::vector<uint64_t> attached;
  std::map<uint32_t, size_t> tables;  // their blocks
  std::map<pid_t, std::vector<tephra_walk_mapping>> processes;
  uint32_t next_table = 1;
  size_t most_processes = SIZE_MAX;
  size_t most_tables = SIZE_MAX;
  size_t sets = 0;
  std::vector<pid_t> answered_for;
  bool refuse_tables = false;
  bool dangling = false;  // a table was removed that a process refers to
  std::string samples;
  std::vector<tephra_walk_wanted> wanted;
  Totals counted;
};

}  // namespace tephra::collect
