#include "base/number_hash.h"

#include <random>

namespace tephra::base {

uint64_t secret_seed() {
  static const uint64_t seed = [] {
    std::random_device random;
    return uint64_t{random()} << 32 | random();
  }();
  return seed;
}

}  // namespace tephra::base
