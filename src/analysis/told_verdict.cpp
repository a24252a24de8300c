#include "analysis/told_verdict.h"

#include <fmt/format.h>

namespace tephra::analysis {
namespace {

// Comments are of any size, and are passed on by each conversion.
constexpr size_t kMostText = 1000;

std::string printable(std::string_view text) {
  std::string out(text.substr(0, kMostText));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return out;
}

}  // namespace

std::optional<ToldVerdict> told_verdict(const std::vector<std::string>& comments) {
  for (const Grade grade : {Grade::kPoor, Grade::kFair}) {
    const std::string beginning = fmt::format("verdict: {}. ", grade_name(grade));
    for (const std::string& comment : comments) {
      if (comment.starts_with(beginning)) {
        return ToldVerdict{grade, printable(std::string_view(comment).substr(beginning.size()))};
      }
    }
  }
  return std::nullopt;
}

}  // namespace tephra::analysis
