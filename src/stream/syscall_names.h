#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tephra::stream {

// What a machine (as uname says it) calls a system call; "syscall 512" where that is not known.
std::string syscall_name(uint32_t number, std::string_view arch);

}  // namespace tephra::stream
