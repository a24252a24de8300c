#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collect/sample_writer.h"
#include "kernel/watching.h"

namespace tephra::collect {

// The stacks that waits, and sums of what threads do, refer to by their hash, as they go into samples.
class TakenStacks {
 public:
  struct Stack {
    std::vector<uint64_t> chain;
    std::vector<uint64_t> registers;  // in perf's order, where there is a copy
    std::vector<std::byte> copy;
    uint16_t walk_end = 0;
    size_t interrupt_words = 0;  // of the chain, that are of an interrupt; below is whom it interrupted. 0: of none
  };

  // Where functions of the kernel are, as half-open ranges; empty where addresses are hidden.
  struct KernelPlaces {
    std::vector<std::pair<uint64_t, uint64_t>> scheduler;    // what is above it is how the program was called
    std::vector<std::pair<uint64_t, uint64_t>> tracepoints;  // they, and what is above, are how it was called
    std::vector<std::pair<uint64_t, uint64_t>> interrupts;   // what is below it has nothing to do with what is above
  };

  // `copies`: samples can hold them; else they are followed here, by frame pointers.
  explicit TakenStacks(bool copies);

  void add(const kernel::TakenStack& stack);
  // Null: it has not come.
  const Stack* find(uint64_t hash) const;
  // Copies are all told apart; of those with the same content, the first.
  uint64_t same_as(uint64_t hash) const {
    const auto found = same_.find(hash);
    return found == same_.end() ? hash : found->second;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t interrupt_words(const Stack& stack) const;

  bool copies_;
  KernelPlaces places_;
  std::unordered_map<uint64_t, Stack> stacks_;
  std::unordered_map<uint64_t, uint64_t> same_;           // by hash: that of the first with the same content
  std::unordered_map<std::string, uint64_t> by_content_;  // of copies: pointers, kernel part and digest of the stack
  size_t bytes_ = 0;
};

}  // namespace tephra::collect
