#pragma once

#include <string>
#include <string_view>

namespace tephra::objects {

enum class Parameters { kLeaveOut, kShow };

// The source name of a symbol: C++, Rust (both manglings) and D, in GNU spelling. A name that is not mangled comes back
// as it is. Of a mangled C++ name that was cut off, what can still be read comes back with " [truncated]" after it.
// Time, stack and output are bounded whatever the name: beyond the bounds the symbol comes back as it is.
std::string demangle(std::string_view symbol, Parameters parameters = Parameters::kLeaveOut);

// Whether the symbol looks mangled in one of the known ways.
bool is_mangled(std::string_view symbol);

}  // namespace tephra::objects
