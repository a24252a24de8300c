#include "wall_clock.h"

#include <signal.h>
#include <time.h>

#include <chrono>

namespace tephra::fake {
namespace {

constexpr uint64_t kSpoilAfterNs = 50'000'000;
constexpr uint64_t kBurstEveryNs = 100'000'000;
constexpr uint64_t kBurstNs = 20'000'000;
constexpr double kBurst = 100;

uint64_t monotonic_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

WallClock::WallClock(FakeMachine& machine) : machine_(machine), config_(machine.config()), follower_(machine) {
  machine_.start_at(monotonic_ns());
  machine_.before_read([this] { catch_up(); });
  // Signals are for the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([this] {
    while (!stop_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      catch_up();
    }
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

WallClock::~WallClock() {
  stop_ = true;
  thread_.join();
  machine_.before_read(nullptr);
}

void WallClock::catch_up() {
  const std::lock_guard lock(mutex_);
  Behaviour behaviour;
  behaviour.running = follower_.follow();
  const uint64_t now = monotonic_ns();
  const uint64_t before = machine_.now();
  if (now <= before) return;
  if (config_.throttle && now % kBurstEveryNs < kBurstNs) behaviour.burst = kBurst;
  spoil(now);
  machine_.run(now - before, behaviour);
}

void WallClock::spoil(uint64_t now) {
  if (spoiled_ || (config_.lose == 0 && config_.lose_samples == 0)) return;
  bool sampling = false;
  for (const auto& event : machine_.events()) sampling |= event.enabled && event.attr.sample_period > 1;
  if (!sampling) return;
  if (begin_ == 0) begin_ = now;
  if (now - begin_ < kSpoilAfterNs) return;
  spoiled_ = true;
  if (config_.lose_samples > 0) machine_.lose_samples(config_.lose_samples);
  if (config_.lose > 0) machine_.lose_next(config_.lose);
}

}  // namespace tephra::fake
