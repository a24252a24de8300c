#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/diff_names.h"
#include "model/profile.h"

namespace tephra::analysis {

enum class DiffSide : uint8_t { kBefore, kAfter };
inline constexpr size_t kDiffSides = 2;

// A profile that is compared. Both must outlive what is made of them.
struct DiffProfile {
  const model::Profile* profile = nullptr;
  // The same with the names that were replaced in `profile`, for matching only; never to be shown. May be `profile`.
  const model::Profile* named = nullptr;
  DiffSide side = DiffSide::kBefore;
  double work = 1;  // units of work that it covers; what values are divided by, where they are
};

// A function of either side, or a thread at the base of stacks.
struct DiffFunctionName {
  std::string name;         // as shown: of the side after, where it is there
  std::string before_name;  // where it is called otherwise before; else empty
  std::string module;       // for the eye; empty where it is not known or not one
  bool kernel = false;
  bool base = false;  // a thread's name
  bool on_side[kDiffSides] = {false, false};
};

struct DiffMatchOptions {
  DiffNameOptions names;
  // Functions that the user says were renamed, by their names across builds: before -> after.
  std::unordered_map<std::string, std::string> renamed;
};

// Which functions of several profiles are the same: those of the same name across builds. The module counts only where
// a name is in several modules of one side.
class DiffFunctions {
 public:
  DiffFunctions(const std::vector<DiffProfile>& profiles, const DiffMatchOptions& options);

  // Rows of names() for a frame, and for what stacks of a thread stand on (kNone: nothing), of the profile with that
  // number.
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t of_frame(size_t profile, model::FrameId frame) const { return of_frame_[profile][frame.value]; }
  uint32_t of_thread(size_t profile, model::ThreadId thread) const { return of_thread_[profile][thread.value]; }

  const std::vector<DiffFunctionName>& names() const { return names_; }
  std::vector<DiffFunctionName> take_names() && { return std::move(names_); }
  // Threads of another name on each side that were taken for the same: "app-1.0", "app-1.1".
  const std::vector<std::pair<std::string, std::string>>& joined_threads() const { return joined_threads_; }
  // Of DiffMatchOptions::renamed, the names before of what is not there: the old one before, or the new one after.
  const std::set<std::string>& not_renamed() const { return not_renamed_; }

 private:
  struct Matching;
  void match_frames(const std::vector<DiffProfile>& profiles, const Matching& matching);
  void match_threads(const std::vector<DiffProfile>& profiles);

  std::vector<std::vector<uint32_t>> of_frame_;
  std::vector<std::vector<uint32_t>> of_thread_;
  std::vector<DiffFunctionName> names_;
  std::vector<std::pair<std::string, std::string>> joined_threads_;
  std::set<std::string> not_renamed_;
};

}  // namespace tephra::analysis
