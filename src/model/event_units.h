#pragma once

#include <cstdint>
#include <string_view>

namespace tephra::model {

// What numbers of pure counts are of, whatever is counted.
inline constexpr std::string_view kCountUnit = "count";

// The unit in which numbers of several units can be added up: nanoseconds, bytes, counts. A unit of which nothing is
// known is its own.
struct CommonUnit {
  std::string_view unit;
  uint64_t factor = 1;  // one of the unit, in the common one
};
CommonUnit common_unit(std::string_view unit);

}  // namespace tephra::model
