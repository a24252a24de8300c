#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "abi/frame_rules.h"
#include "abi/stack_walk.h"
#include "base/file.h"
#include "base/result.h"
#include "kernel/bpf_memory.h"

namespace tephra::kernel {

// The call-frame tables that programs in the kernel look up (bpf/stack_walk.h): an array of rows for each, in an array
// of arrays, and one set of rules for all.
class WalkTables {
 public:
  struct Maps {
    int tables = -1;
    int table_blocks = -1;
    int rules = -1;
    int answers = -1;
  };
  struct Limits {
    uint32_t tables = 0;
    uint64_t bytes = 0;
    size_t cpus = 0;  // possible_cpus()
  };
  static base::Result<WalkTables> open(const Maps& maps, const Limits& limits);

  // Both as in StackProgram.
  base::Result<uint32_t> add(std::span<const tephra_frame_block> blocks, std::span<const tephra_frame_rule> rules);
  void remove(uint32_t table);
  // Lets programs see the tables that were added since; to be called before mappings that refer to them are told. The
  // kernel waits for all programs that run when an array of arrays changes, which takes tens of milliseconds, so that
  // is done for many tables at once.
  base::Status publish();

  uint64_t count() const { return count_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t rules() const { return numbers_.size(); }

 private:
  struct RuleHash {
    size_t operator()(const tephra_frame_rule& rule) const;
  };
  struct RuleEqual {
    bool operator()(const tephra_frame_rule& a, const tephra_frame_rule& b) const;
  };

  base::Status put_rules(std::span<const tephra_frame_rule> rules, std::vector<uint16_t>& numbers);
  base::Result<base::FileDescriptor> make_rows(std::span<const tephra_frame_block> blocks,
                                               const std::vector<uint16_t>& numbers) const;
  void forget_answers();

  Maps maps_;
  Limits limits_;
  BpfMemory block_counts_;
  BpfMemory rule_memory_;
  std::unordered_map<tephra_frame_rule, uint16_t, RuleHash, RuleEqual> numbers_;
  std::map<uint32_t, base::FileDescriptor> not_published_;
  bool answers_stale_ = false;         // those of programs may be of tables that are gone
  std::vector<uint64_t> sizes_;        // by table number, in bytes; 0: not used
  std::deque<uint32_t> free_numbers_;  // used longest ago first
  uint64_t count_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace tephra::kernel
