#pragma once

#include <string>
#include <string_view>

#include "analysis/call_tree.h"
#include "model/profile.h"

namespace tephra::analysis {

// Where code comes from, in three ways.
enum class GroupBy : uint8_t {
  kModule,   // the code object: "libc.so.6", "[kernel]"
  kPackage,  // the part of the program that the name tells: "std", "java.util", "github.com/me/app"
  kSource,   // the folder of the source file
};

// The group of a node; empty where it has none: nothing is known, or frames of several were merged. Threads have none.
std::string group_of(const model::Profile& profile, const CallNode& node, const CallName& name, GroupBy by);

// The package that a function's name begins with, as Go, Java, C++, Rust, Python (perf's trampolines) and Node.js write
// it. Empty where the name tells none, as in C.
std::string package_of(std::string_view name);

}  // namespace tephra::analysis
