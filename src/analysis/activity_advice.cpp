#include "analysis/activity_advice.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/abilities.h"
#include "base/units.h"

namespace tephra::analysis {
namespace {

using kernel::ProcessActivity;

// Per second of looking.
constexpr double kMuchCpu = 0.5;
constexpr double kLittleCpu = 0.1;
constexpr double kManyMinorFaults = 20'000;
constexpr double kManyMajorFaults = 50;
constexpr double kMuchTransfer = 20e6;
constexpr double kMuchBlocked = 0.3;  // share of the looks

bool exists(std::string_view type) {
  return std::any_of(kProfileTypes.begin(), kProfileTypes.end(),
                     [&](const ProfileType& known) { return known.name == type && known.exists; });
}

std::string existing_types() {
  std::string names;
  for (const ProfileType& type : kProfileTypes) {
    if (type.exists) names += (names.empty() ? "" : ", ") + std::string(type.name);
  }
  return names;
}

std::string share(double part) { return part > 0 && part < 0.005 ? "under 1 %" : fmt::format("{:.0f} %", part * 100); }

struct Rates {
  double cpu = 0;  // in CPUs
  double system = 0;
  double queued = 0;
  double minor_faults = 0;
  double major_faults = 0;
  double transfer = 0;
  double blocked = 0;
};

Rates rates_of(const ProcessActivity& activity) {
  Rates rates;
  const double seconds = std::max(activity.seconds, 1e-3);
  rates.cpu = (activity.user_seconds + activity.system_seconds) / seconds;
  rates.system = activity.system_seconds / seconds;
  rates.queued = activity.queued_seconds / seconds;
  rates.minor_faults = static_cast<double>(activity.minor_faults) / seconds;
  rates.major_faults = static_cast<double>(activity.major_faults) / seconds;
  rates.transfer = static_cast<double>(activity.read_bytes.value_or(0) + activity.written_bytes.value_or(0)) / seconds;
  if (activity.looks > 0) rates.blocked = static_cast<double>(activity.blocked) / static_cast<double>(activity.looks);
  return rates;
}

std::string cpu_text(const Rates& rates) {
  return rates.cpu > 1.05 ? fmt::format("{:.1f} CPUs", rates.cpu) : fmt::format("{} of a CPU", share(rates.cpu));
}

bool is_starved(const Rates& rates) {
  constexpr double kMuchQueued = 0.2;
  return rates.queued > kMuchQueued && rates.queued > rates.cpu * 0.5;
}

struct Choice {
  std::string seen;
  std::string type;
};

Choice choose(const Rates& rates) {
  if (rates.major_faults > kManyMajorFaults) {
    return {fmt::format("waiting for pages from disk ({:.0f} major faults a second)", rates.major_faults), "mem"};
  }
  if (rates.transfer > kMuchTransfer && rates.cpu < kMuchCpu) {
    return {fmt::format("moving data to or from disk ({} a second, {})",
                        base::bytes_text(static_cast<uint64_t>(rates.transfer)), cpu_text(rates)),
            "io"};
  }
  if (rates.blocked > kMuchBlocked && rates.cpu < kMuchCpu) {
    return {fmt::format("blocked in the kernel, mostly for a disk ({} of the time)", share(rates.blocked)), "io"};
  }
  if (rates.minor_faults > kManyMinorFaults) {
    return {fmt::format("faulting in memory ({:.0f} page faults a second)", rates.minor_faults), "mem"};
  }
  // Waiting for a CPU is work to be done, not idleness.
  if (rates.cpu + rates.queued >= kMuchCpu) {
    return {fmt::format("{} ({})", is_starved(rates) ? "busy, and short of CPUs" : "busy", cpu_text(rates)), "cpu"};
  }
  if (rates.cpu >= kLittleCpu) return {fmt::format("partly busy ({}), else waiting", cpu_text(rates)), "cpu"};
  return {fmt::format("mostly waiting ({})", cpu_text(rates)), "offcpu"};
}

std::string note_of(const Rates& rates) {
  if (is_starved(rates)) {
    return fmt::format("It waits {} as long for a CPU as it runs on one: the machine, or its CPU quota, is too small.",
                       rates.cpu > 0 ? fmt::format("{:.1f} times", rates.queued / rates.cpu) : "much");
  }
  if (rates.cpu >= kMuchCpu && rates.system > rates.cpu * 0.5) {
    return fmt::format("{} of its CPU time is spent in the kernel.", share(rates.system / rates.cpu));
  }
  return {};
}

}  // namespace

std::string ActivityAdvice::text() const {
  std::string line = fmt::format("{}: {}", seen, command);
  if (!exists) line += fmt::format(" is the fitting type; this version has only {}", existing_types());
  line += '.';
  return note.empty() ? line : line + " " + note;
}

ActivityAdvice advise(const ProcessActivity& activity, pid_t pid) {
  const Rates rates = rates_of(activity);
  Choice choice = choose(rates);
  ActivityAdvice advice;
  advice.seen = std::move(choice.seen);
  advice.type = std::move(choice.type);
  advice.exists = exists(advice.type);
  advice.command = fmt::format("tephra profile -t {} -p {}", advice.type, pid);
  advice.note = note_of(rates);
  return advice;
}

}  // namespace tephra::analysis
