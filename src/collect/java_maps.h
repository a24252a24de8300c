#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"

namespace tephra::collect {

// Lets Java processes write their perf maps (jcmd Compiler.perfmap), each now and then, in threads of their own, since
// a process may take its time to answer.
class JavaMaps {
 public:
  using Clock = std::chrono::steady_clock;

  void add(pid_t pid) { requests_.try_emplace(pid); }
  void remove(pid_t pid);
  bool empty() const { return requests_.empty(); }

  // Asks those whose time has come. The first refusal since the last call, if any.
  std::optional<std::string> ask(Clock::time_point now);
  // Asks all, and waits for their answers, `patience` at most and no longer than until `hurry` says so.
  void ask_last(std::chrono::milliseconds patience, const std::function<bool()>& hurry);

 private:
  struct Request {
    std::future<base::Result<std::string>> answer;
    Clock::time_point next;
    std::chrono::seconds pause{2};
    int refusals = 0;
  };
  static void start(pid_t pid, Request& request, std::chrono::milliseconds patience);

  std::map<pid_t, Request> requests_;
};

}  // namespace tephra::collect
