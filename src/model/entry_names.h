#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace tephra::model {

// Whether a function of this name begins a program or a thread. Its callers, where there are any, are reached neither
// by frame pointers nor of interest. Names like main prove nothing: anyone may call them.
inline bool is_entry_name(std::string_view symbol) {
  static constexpr std::array<std::string_view, 16> kEntries{"_start",
                                                             "_dl_start_user",
                                                             "__libc_start_main",
                                                             "__libc_start_main_impl",
                                                             "__libc_start_call_main",
                                                             "clone",
                                                             "__clone",
                                                             "clone3",
                                                             "__clone3",
                                                             "__GI___clone",
                                                             "__GI___clone3",
                                                             "thread_start",
                                                             "start_thread",
                                                             "runtime.goexit",
                                                             "runtime.goexit.abi0",
                                                             "runtime.mstart"};
  // A symbol may carry its version: clone@@GLIBC_2.2.5.
  return std::find(kEntries.begin(), kEntries.end(), symbol.substr(0, symbol.find('@'))) != kEntries.end();
}

}  // namespace tephra::model
