#pragma once

#include <cstddef>
#include <cstdint>

#include "base/hash.h"

namespace tephra::base {

// A number that nobody outside of this process knows.
uint64_t secret_seed();

// For tables by numbers that files tell. The standard's hash of a number is the number, so that a file could choose
// them to be all in one place of a table; whoever does not know the seed cannot.
class NumberHash {
 public:
  size_t operator()(uint64_t number) const { return mix(number ^ seed_, seed_); }

 private:
  uint64_t seed_ = secret_seed();
};

}  // namespace tephra::base
