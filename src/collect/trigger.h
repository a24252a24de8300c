#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "collect/trigger_spec.h"

namespace tephra::collect {

// Tells when something happened that is worth a snapshot. After it has fired it is silent for a while, so that a
// condition that lasts does not give one snapshot after the other.
class Trigger {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kDefaultCooldown{5000};

  explicit Trigger(std::chrono::milliseconds cooldown) : cooldown_(cooldown) {}
  virtual ~Trigger() = default;
  Trigger(const Trigger&) = delete;
  Trigger& operator=(const Trigger&) = delete;

  // Readable when fired() should be asked; -1: there is none, ask every so often.
  virtual int wait_fd() const { return -1; }
  virtual std::optional<std::chrono::milliseconds> poll_every() const { return {}; }

  // What happened since it was last asked, as a person would say it. Cheap, and may be asked more often than needed.
  std::optional<std::string> fired(Clock::time_point now = Clock::now());
  // Times it was silent after a firing.
  virtual uint64_t suppressed() const { return suppressed_; }

 protected:
  // Whether the condition holds, and how.
  virtual std::optional<std::string> check(Clock::time_point now) = 0;

 private:
  std::chrono::milliseconds cooldown_;
  std::optional<Clock::time_point> last_;
  uint64_t suppressed_ = 0;
};

// Fails with what is missing on this machine and how to get it.
base::Result<std::unique_ptr<Trigger>> open_trigger(const TriggerSpec& spec,
                                                    std::chrono::milliseconds cooldown = Trigger::kDefaultCooldown);

// Both in one.
base::Result<std::unique_ptr<Trigger>> parse_trigger(std::string_view text,
                                                     std::chrono::milliseconds cooldown = Trigger::kDefaultCooldown);

}  // namespace tephra::collect
