#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tephra::kernel {

// The names closest to `wanted`, best first, at most `limit`: those that contain it and those a few typing errors away.
std::vector<std::string> near_matches(std::string_view wanted, const std::vector<std::string>& names, size_t limit = 3);

// "Did you mean a, b or c?", or "" when there are none.
std::string did_you_mean(const std::vector<std::string>& names);

}  // namespace tephra::kernel
