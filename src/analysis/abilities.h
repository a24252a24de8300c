#pragma once

#include <array>
#include <string_view>

namespace tephra::analysis {

// What this version can do, for advice that must not send anybody to what is not there. Change it here, and all advice
// follows.
struct ProfileType {
  std::string_view name;  // as in `tephra profile -t NAME`
  bool exists;
};
inline constexpr std::array kProfileTypes{
    ProfileType{"cpu", true},
    ProfileType{"offcpu", false},
    ProfileType{"mem", false},
    ProfileType{"io", false},
};

inline constexpr bool kReadsJitMaps = true;
inline constexpr bool kUnwindsStackCopies = true;

}  // namespace tephra::analysis
