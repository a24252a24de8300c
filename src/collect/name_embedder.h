#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "collect/embed_names.h"
#include "symbols/kept_files.h"

namespace tephra::collect {

// Stores names in finished recordings, each in a process of its own: whatever is in the files that were sampled, the
// recorder goes on, and a time limit holds. The processes die with the recorder.
class NameEmbedder {
 public:
  using Clock = std::chrono::steady_clock;

  NameEmbedder() = default;
  NameEmbedder(const NameEmbedder&) = delete;
  NameEmbedder& operator=(const NameEmbedder&) = delete;
  // Ends what is under way.
  ~NameEmbedder();

  // `files` are those that are kept now.
  base::Status begin(const std::string& path, const symbols::KeptFiles& files, const EmbedSettings& settings);

  struct Result {
    std::string path;
    std::optional<Embedded> done;  // none: `why_not`
    std::string why_not;
    double cpu_seconds = 0;
  };
  // What has ended since the last call. Waits at most so long for one. Processes that took too long are ended.
  std::vector<Result> results(std::chrono::milliseconds wait);
  bool busy() const { return !children_.empty(); }
  // Ends all that is under way; nothing is stored then.
  void stop();

 private:
  struct Child {
    pid_t pid = 0;
    base::FileDescriptor answer;
    std::string path;
    Clock::time_point begun;
  };
  static Result result_of(Child& child, bool too_late);

  std::vector<Child> children_;
};

}  // namespace tephra::collect
