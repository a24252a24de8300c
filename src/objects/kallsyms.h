#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace tephra::objects {

// Names kernel addresses from the text of /proc/kallsyms in one pass over it, piece by piece, so that neither the text
// nor an index of its symbols is ever held: only the nearest symbol at or below each wanted address. As in perf, of
// several symbols at one address the last one listed counts.
class Kallsyms {
 public:
  struct Symbol {
    uint64_t address = 0;
    std::string name;    // empty: there is none
    std::string module;  // without brackets; empty for the kernel image
  };

  // `wanted` need not be sorted.
  explicit Kallsyms(std::vector<uint64_t> wanted);

  // Reads the next piece of the text, of any size. False: what follows cannot change any answer.
  bool feed(base::Bytes piece);
  // The end of the text was reached, or feed() said that it need not be.
  void finish();

  // After finish(). Null: nothing at or below the address.
  const Symbol* find(uint64_t address) const;
  // Where the symbol _text is: where this boot put the kernel.
  std::optional<uint64_t> text_start() const { return text_start_; }
  // Whether there are symbols but all of them were shown at address 0, as the kernel does for users it does not trust.
  bool hidden() const { return lines_ > 0 && nonzero_ == 0; }

 private:
  void read_line(std::string_view line);
  void offer(uint64_t address, std::string_view name_and_module);

  std::vector<uint64_t> wanted_;  // sorted, distinct
  std::vector<Symbol> nearest_;   // by index in wanted_: the highest symbol in (wanted_[i - 1], wanted_[i]]
  size_t slot_ = 0;               // where the last symbol went: the text is mostly in order
  std::string carry_;             // the line that a piece ended in
  std::optional<uint64_t> text_start_;
  uint64_t lines_ = 0;
  uint64_t nonzero_ = 0;
  bool complete_ = false;
};

}  // namespace tephra::objects
