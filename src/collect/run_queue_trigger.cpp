#include "collect/run_queue_trigger.h"

namespace tephra::collect {

base::Result<std::unique_ptr<Trigger>> open_run_queue_trigger(std::chrono::nanoseconds, std::chrono::milliseconds) {
  return base::failed("cannot watch the scheduler", {}, "this tephra was built without BPF",
                      "Build it with -DTEPHRA_BPF=ON.");
}

}  // namespace tephra::collect
