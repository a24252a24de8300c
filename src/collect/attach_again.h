#pragma once

#include <functional>

#include "base/result.h"
#include "collect/event_set.h"
#include "collect/live_tasks.h"

namespace tephra::collect {

// Opens events that are being renewed (EventSet::renew) on every task that has the old ones. `hear` lets the tasks know
// what the rings tell of births and ends; it is called again until nobody is born without the new events.
//
// Whether a task that is born meanwhile has inherited an event is told by the times of its birth and of the opening.
// Both are taken some microseconds late: an event that is opened on a task just when it forks may be missing in that
// child, or be open twice in it.
base::Status attach_again(EventSet& events, LiveTasks& tasks, const std::function<base::Status()>& hear);

}  // namespace tephra::collect
