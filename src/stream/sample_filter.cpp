#include "stream/sample_filter.h"

#include <algorithm>

namespace tephra::stream {
namespace {

bool lists(const std::vector<int32_t>& wanted, int32_t value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

}  // namespace

bool SampleFilter::takes(const Origin& origin) const {
  return origin.time >= begin_time && origin.time <= end_time && lists(pids, origin.pid) && lists(tids, origin.tid) &&
         lists(cpus, origin.cpu);
}

}  // namespace tephra::stream
