#pragma once

#include <map>
#include <string>
#include <vector>

namespace tephra::symbols {

// Which package of Debian's package manager brought each file; files of none are left out. Read from its lists below
// `root` ("" for the machine's own), without running it. Directories may be merged: /lib/x and /usr/lib/x are one file.
std::map<std::string, std::string> package_owners(const std::string& root, const std::vector<std::string>& paths);

// The package with the debug information for the files of a package.
std::string debug_package_of(const std::string& package);

// Which way debug information is installed on the system below `root`.
enum class Distribution { kOther, kDebian, kFedora };
Distribution distribution_of(const std::string& root);

}  // namespace tephra::symbols
