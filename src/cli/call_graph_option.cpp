#include "cli/call_graph_option.h"

#include <fmt/format.h>

#include "cli/recording.h"

namespace tephra::cli {

using collect::CallGraph;

namespace {

// The frame of one function is often some hundred bytes.
constexpr uint64_t kLeastStackBytes = 1024;

}  // namespace

base::Status set_call_graph(const std::string& text, collect::SampleSettings& sampling) {
  const size_t comma = text.find(',');
  const std::string mode = text.substr(0, comma);
  const bool plain = comma == std::string::npos;
  if (mode == "auto" && plain) {
    sampling.call_graph = CallGraph::kAuto;
    return {};
  }
  if (mode == "bpf" && (plain || text == "bpf,check")) {
    sampling.call_graph = CallGraph::kBpf;
    sampling.check_walks = !plain;
    return {};
  }
  if (mode == "fp" && plain) {
    sampling.call_graph = CallGraph::kFramePointers;
    return {};
  }
  if (mode == "lbr" && plain) {
    sampling.call_graph = CallGraph::kBranches;
    return {};
  }
  if (mode != "dwarf") {
    return base::usage_error("unknown call graph mode", text, "", "Write auto, bpf, fp, dwarf, dwarf,SIZE or lbr.");
  }
  sampling.call_graph = CallGraph::kDwarf;
  if (plain) return {};
  const auto size = whole_number(std::string_view(text).substr(comma + 1));
  const uint64_t rounded = size ? (*size + 7) / 8 * 8 : 0;
  if (rounded < kLeastStackBytes || rounded > collect::kMaxStackBytes) {
    return base::usage_error("not a stack size", text, "",
                             fmt::format("It is {} (in less there are hardly any callers) to {} bytes.",
                                         kLeastStackBytes, collect::kMaxStackBytes));
  }
  sampling.stack_bytes = static_cast<uint32_t>(rounded);
  return {};
}

}  // namespace tephra::cli
