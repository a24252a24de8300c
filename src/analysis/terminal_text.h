#pragma once

#include <string>
#include <string_view>

namespace tephra::analysis {

// Names and comments out of files may hold anything; the verdict goes to terminals, on one line.
inline std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return out;
}

}  // namespace tephra::analysis
