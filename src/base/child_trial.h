#pragma once

#include <functional>

namespace tephra::base {

// Whether `work` comes to its end in a child process of ours, within some seconds of CPU time and without a signal: for
// calling libraries that were not written for hostile input. What it writes to standard error is dropped; memory that
// it changes is the child's. False also where no process can be made.
bool comes_through(const std::function<void()>& work);

}  // namespace tephra::base
