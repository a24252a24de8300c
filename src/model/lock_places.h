#pragma once

#include <cstdint>
#include <string_view>

namespace tephra::model {

// The label of waits for a lock: where it is, as text; where it has a name, that ("queue_mutex+0x8"). Until symbols/
// has looked, the label's number is a frame that stands for the place, or 0 where no file is near.
inline constexpr std::string_view kLockKey = "lock";

// Such a frame is of no stack. Its address is that of data: as far behind the first byte of its mapping as if the code
// that is mapped went on to there. No offset in a file has the bit that tells it from code.
inline constexpr uint64_t kDataAddress = uint64_t{1} << 63;
constexpr bool is_data_address(uint64_t address) { return (address & kDataAddress) != 0; }

}  // namespace tephra::model
