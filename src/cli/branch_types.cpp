#include "cli/branch_types.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <string>

namespace tephra::cli {
namespace {

struct BranchType {
  std::string_view name;
  uint64_t bits;
};

constexpr BranchType kTypes[] = {
    {"any", PERF_SAMPLE_BRANCH_ANY},
    {"any_call", PERF_SAMPLE_BRANCH_ANY_CALL},
    {"any_ret", PERF_SAMPLE_BRANCH_ANY_RETURN},
    {"ind_call", PERF_SAMPLE_BRANCH_IND_CALL},
    {"ind_jmp", PERF_SAMPLE_BRANCH_IND_JUMP},
    {"call", PERF_SAMPLE_BRANCH_CALL},
    {"cond", PERF_SAMPLE_BRANCH_COND},
    {"abort_tx", PERF_SAMPLE_BRANCH_ABORT_TX},
    {"in_tx", PERF_SAMPLE_BRANCH_IN_TX},
    {"no_tx", PERF_SAMPLE_BRANCH_NO_TX},
    {"stack", PERF_SAMPLE_BRANCH_CALL_STACK},
    {"save_type", PERF_SAMPLE_BRANCH_TYPE_SAVE},
    {"u", PERF_SAMPLE_BRANCH_USER},
    {"k", PERF_SAMPLE_BRANCH_KERNEL},
    {"hv", PERF_SAMPLE_BRANCH_HV},
};
constexpr uint64_t kWhere = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV;

}  // namespace

base::Result<uint64_t> parse_branch_types(std::string_view text) {
  uint64_t bits = 0;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view name = text.substr(begin, comma - begin);
    const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                     [name](const BranchType& type) { return type.name == name; });
    if (found == std::end(kTypes)) {
      std::string names;
      for (const BranchType& type : kTypes) names += (names.empty() ? "" : ", ") + std::string(type.name);
      return base::usage_error("no such kind of branch", std::string(name), "", "There are: " + names + ".");
    }
    bits |= found->bits;
    begin = comma + 1;
  }
  // As perf: the place alone means any branch there.
  if ((bits & ~kWhere) == 0) bits |= PERF_SAMPLE_BRANCH_ANY;
  return bits;
}

}  // namespace tephra::cli
