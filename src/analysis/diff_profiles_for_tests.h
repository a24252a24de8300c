#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/diff.h"
#include "model/profile_assembler.h"

namespace tephra::analysis {

// Profiles of known truth: samples are drawn from stacks with given shares.
struct KnownStack {
  std::string stack;  // "main;work;hot", outermost first; "name@/module" where the module matters
  double share = 0;
  double run_noise = 0;  // standard deviation of the logarithm of its share, from run to run
};

struct KnownRun {
  std::vector<KnownStack> stacks;
  uint64_t samples = 4000;
  double seconds = 4;
  // How much shares vary from one second to the next (standard deviation of the factor); 0: samples are independent.
  double unsteadiness = 0;
  // The same, from run to run.
  double run_noise = 0;
  std::string event = "cpu-clock";
  std::string unit = "ns";
};

class KnownProfiles {
 public:
  explicit KnownProfiles(uint32_t seed) : random_(seed) {}

  model::Profile draw(const KnownRun& run) {
    model::ProfileAssembler made;
    const auto event = made.event({made.string(run.event), made.string(run.unit)});
    const auto thread = made.thread({1, 1, made.string("prog")});
    std::vector<model::StackId> stacks;
    for (const KnownStack& one : run.stacks) stacks.push_back(stack(made, one.stack));
    const std::vector<double> of_run = shares(run.stacks, run.run_noise);
    constexpr double kNanoseconds = 1e9;
    const auto seconds = static_cast<uint64_t>(std::max(1.0, run.seconds));
    uint64_t made_samples = 0;
    for (uint64_t second = 0; second < seconds; ++second) {
      std::vector<double> now = of_run;
      for (double& share : now) share *= factor(run.unsteadiness);
      std::discrete_distribution<size_t> which(now.begin(), now.end());
      const uint64_t until = run.samples * (second + 1) / seconds;
      const uint64_t count = until - made_samples;
      for (uint64_t i = 0; i < count; ++i) {
        const double time =
            (static_cast<double>(second) + (static_cast<double>(i) + 0.5) / static_cast<double>(count)) * run.seconds /
            static_cast<double>(seconds) * kNanoseconds;
        made.sample({.stack = stacks[which(random_)],
                     .event = event,
                     .thread = thread,
                     .count = 1,
                     .value = 1'000'000,
                     .time = static_cast<uint64_t>(time) + 1});
      }
      made_samples = until;
    }
    made.facts().first_time = 1;
    made.facts().last_time = static_cast<uint64_t>(run.seconds * kNanoseconds);
    made.facts().engine = model::kEngineFramePointers;
    return std::move(made).finish();
  }

 private:
  double factor(double deviation) {
    if (deviation <= 0) return 1;
    const double shape = 1 / (deviation * deviation);
    return std::gamma_distribution<double>(shape, 1 / shape)(random_);
  }

  std::vector<double> shares(const std::vector<KnownStack>& stacks, double noise) {
    std::vector<double> all;
    for (const KnownStack& one : stacks) {
      const double own = one.run_noise > 0 ? std::lognormal_distribution<double>(0, one.run_noise)(random_) : 1;
      all.push_back(one.share * factor(noise) * own);
    }
    return all;
  }

  static model::StackId stack(model::ProfileAssembler& made, std::string_view text) {
    model::StackId id;
    while (!text.empty()) {
      const size_t end = text.find(';');
      const std::string_view frame = text.substr(0, end);
      const size_t at = frame.find('@');
      const auto module = at == std::string_view::npos ? std::string_view("/bin/prog") : frame.substr(at + 1);
      const auto name = made.string(frame.substr(0, at));
      const auto mapping = made.mapping({.path = made.string(module), .kind = model::CodeKind::kFile});
      id = made.stack(id, made.frame({.mapping = mapping, .function = made.function({name, name, true})}));
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    return id;
  }

  std::mt19937_64 random_;
};

// Compares profiles that all go well together.
inline Diff diff_of(const std::vector<model::Profile>& before, const std::vector<model::Profile>& after,
                    DiffOptions options = {}, std::vector<double> work = {}) {
  std::vector<DiffProfile> profiles;
  for (const DiffSide side : {DiffSide::kBefore, DiffSide::kAfter}) {
    for (const model::Profile& profile : side == DiffSide::kBefore ? before : after) {
      profiles.push_back(
          {.profile = &profile, .named = &profile, .side = side, .work = work.empty() ? 1 : work[profiles.size()]});
    }
  }
  auto result = diff(profiles, std::move(options));
  if (!result) throw std::runtime_error(result.error().message());
  return std::move(result).value();
}

}  // namespace tephra::analysis
