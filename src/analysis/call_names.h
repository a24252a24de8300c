#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/call_tree.h"
#include "analysis/labels.h"
#include "base/number_hash.h"
#include "model/profile.h"

namespace tephra::analysis {

// Gives each name that frames are merged by a number, in the order of first use. Frames of one function share the work.
// Number 0 is the root's, "all".
class CallNames {
 public:
  // Both must outlive this.
  CallNames(const model::Profile& profile, const LabelOptions& options);

  uint32_t add(CallName name);
  uint32_t of(model::FrameId frame);
  // For every thread the number of what stands at the base of its stacks; 0 where nothing is wanted, and for samples of
  // no known thread, as imported stacks have them: those bring their own base.
  std::vector<uint32_t> of_threads(BaseFrame base);

  // The names sorted, and in `rank` for each number its place among them. None are left here.
  std::vector<CallName> take_sorted(std::vector<uint32_t>& rank);

 private:
  // Names are of files, which could choose them for their hash.
  struct Hash {
    uint64_t seed;
    size_t operator()(const CallName& name) const;
  };
  uint32_t look_up(model::FrameId frame);

  const model::Profile& profile_;
  const LabelOptions& options_;
  std::unordered_map<CallName, uint32_t, Hash> ids_{16, Hash{base::secret_seed()}};
  std::unordered_map<uint64_t, uint32_t> of_function_;
  std::vector<uint32_t> of_frame_;
};

}  // namespace tephra::analysis
