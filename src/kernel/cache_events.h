#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tephra::kernel {

// The config of PERF_TYPE_HW_CACHE for "CACHE[-OPERATION][-RESULT]", such as "L1-dcache-load-misses", "LLC-stores" or
// "dTLB": loads and accesses where it does not say. None when it is not such a name, or names what no cache does
// (stores to an instruction cache). Case does not matter.
std::optional<uint64_t> cache_event(std::string_view name);

// The usual name of every combination that exists.
std::vector<std::string> cache_event_names();

}  // namespace tephra::kernel
