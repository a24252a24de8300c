#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tephra::kernel {

// The names in a folder in their order, without those that begin with a dot; empty when it cannot be read. At most
// `limit`: folders of other programs may hold any number.
std::vector<std::string> entries_of(const std::string& folder, size_t limit = 1'000'000);
// Those that are folders themselves.
std::vector<std::string> folders_in(const std::string& folder);

}  // namespace tephra::kernel
