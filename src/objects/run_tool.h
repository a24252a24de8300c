#pragma once

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace tephra::objects {

// For tests: what a command of the shell prints.
inline std::string run_tool(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::string output;
  char piece[4096];
  for (size_t got = 0; pipe && (got = std::fread(piece, 1, sizeof piece, pipe.get())) > 0;) output.append(piece, got);
  return output;
}

inline std::vector<std::string> run_tool_lines(const std::string& command) {
  std::vector<std::string> lines;
  const std::string output = run_tool(command);
  for (size_t at = 0; at < output.size();) {
    const size_t end = std::min(output.find('\n', at), output.size());
    lines.push_back(output.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace tephra::objects
