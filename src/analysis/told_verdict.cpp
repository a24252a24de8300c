#include "analysis/told_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/terminal_text.h"

namespace tephra::analysis {
namespace {

// Comments are of any size, and are passed on by each conversion.
constexpr size_t kMostText = 1000;

std::string beginning(Grade grade) { return fmt::format("verdict: {}. ", grade_name(grade)); }

bool is_verdict(std::string_view comment) {
  return comment.starts_with(beginning(Grade::kGood)) || comment.starts_with(beginning(Grade::kFair)) ||
         comment.starts_with(beginning(Grade::kPoor));
}

// The words of the first verdict that a verdict repeats, or its own.
std::string_view of_origin(std::string_view figures) {
  const size_t repeated = figures.rfind(kVerdictRepeated);
  return repeated == std::string_view::npos ? figures : figures.substr(repeated + kVerdictRepeated.size());
}

// Whether the verdicts are on several profiles: one that repeats another may stand beside that.
bool are_of_several(const std::vector<std::string>& comments) {
  std::set<std::string_view> origins;
  for (const std::string_view comment : comments) {
    if (is_verdict(comment)) origins.insert(of_origin(comment.substr(comment.find(". ") + 2)));
  }
  return origins.size() > 1;
}

}  // namespace

std::optional<ToldVerdict> told_verdict(const std::vector<std::string>& comments) {
  for (const Grade grade : {Grade::kPoor, Grade::kFair}) {
    const auto found = std::ranges::find_if(
        comments, [&](const std::string& comment) { return comment.starts_with(beginning(grade)); });
    if (found == comments.end()) continue;
    const std::string_view figures = std::string_view(*found).substr(beginning(grade).size());
    return ToldVerdict{grade, printable(of_origin(figures).substr(0, kMostText)), are_of_several(comments)};
  }
  return std::nullopt;
}

void replace_verdicts(std::vector<std::string>& comments, std::string line) {
  std::erase_if(comments, is_verdict);
  comments.push_back(std::move(line));
}

}  // namespace tephra::analysis
