#include "collect/java_maps.h"

#include <algorithm>

#include "kernel/java_attach.h"

namespace tephra::collect {
namespace {

constexpr std::chrono::milliseconds kPatience{3000};
constexpr std::chrono::seconds kLongestPause{60};
constexpr std::chrono::milliseconds kStep{20};
// A machine that just starts does not listen yet.
constexpr int kMaxRefusals = 3;

bool is_ready(const std::future<base::Result<std::string>>& answer) {
  return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

void JavaMaps::start(pid_t pid, Request& request, std::chrono::milliseconds patience) {
  request.answer = std::async(std::launch::async,
                              [pid, patience] { return kernel::java_command(pid, "Compiler.perfmap", patience); });
}

void JavaMaps::remove(pid_t pid) {
  const auto found = requests_.find(pid);
  // A request under way ends by itself; it is waited for when all is over.
  if (found != requests_.end() && (!found->second.answer.valid() || is_ready(found->second.answer))) {
    requests_.erase(found);
  }
}

std::optional<std::string> JavaMaps::ask(Clock::time_point now) {
  std::optional<std::string> refusal;
  for (auto& [pid, request] : requests_) {
    if (request.answer.valid()) {
      if (!is_ready(request.answer)) continue;
      const auto answer = request.answer.get();
      request.refusals = answer ? 0 : request.refusals + 1;
      if (!answer && request.refusals == kMaxRefusals && !refusal) refusal = answer.error().message();
      request.next = now + (answer ? request.pause : std::chrono::seconds(1));
      if (answer) request.pause = std::min(request.pause * 2, kLongestPause);
    }
    if (now >= request.next && request.refusals < kMaxRefusals) start(pid, request, kPatience);
  }
  return refusal;
}

void JavaMaps::ask_last(std::chrono::milliseconds patience, const std::function<bool()>& hurry) {
  for (auto& [pid, request] : requests_) {
    if (!request.answer.valid() && request.refusals < kMaxRefusals) start(pid, request, patience);
  }
  for (auto& [pid, request] : requests_) {
    if (!request.answer.valid()) continue;
    while (!hurry() && request.answer.wait_for(kStep) != std::future_status::ready) {
    }
  }
}

}  // namespace tephra::collect
